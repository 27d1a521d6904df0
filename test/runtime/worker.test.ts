import { once } from "node:events";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { createTestHarness } from "wrangler";
import { z } from "zod";
import { createEngine } from "../../src/index.ts";
import { FILE_HEADERS, PAGE_HEADERS } from "../../src/pages/headers.ts";
import * as chat from "../browser/chat-page.ts";
import { launchBrowser, MISSING } from "../browser/driver.ts";
import { openPage } from "../browser/open.ts";
import { CLIENTS } from "../clients/loops.ts";
import { type EngineServer, startEngineServer } from "../helpers/engine-server.ts";
import { listenAnywhere } from "../helpers/listen.ts";
import { recordingEngine } from "../helpers/recording-engine.ts";
import { type ScriptedEngine, scriptedEngine } from "../helpers/scripted-engine.ts";
import { forgetful, loopScripts, type Post, runLoop, analysisIn } from "../helpers/tool-loop.ts";
import { startWorker, type TestWorker } from "../helpers/worker.ts";
import { toVariables } from "../helpers/worker-variables.ts";
import { testRequests } from "./requests.ts";
import { responsesReply } from "../helpers/replies.ts";

// The deployed files, as `wrangler dev` runs them: the bundle, wrangler.toml, KV.

describe("with the committed wrangler.toml", () => {
  let worker: TestWorker;
  beforeAll(async () => {
    worker = await startWorker();
  });
  afterAll(() => worker.close());

  testRequests((path, sent) => fetch(worker.origin + path, sent));

  test("each request and each turn is a line of JSON in the log", async () => {
    await fetch(`${worker.origin}/v1/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ messages: [{ role: "user", content: "Hello!" }] }),
    });
    const events = () => worker.lines.map((line) => LogLine.parse(JSON.parse(line)).event);
    await expect.poll(events).toEqual(expect.arrayContaining(["request", "turn"]));
  });

  const HTML = { headers: { accept: "text/html" } };
  const filesOf = (html: string) =>
    Array.from(html.matchAll(/(?:src|href)="(app\/[^"]+)"/g), ([, path = ""]) => path);

  test("a browser gets the chat, whose files the platform serves with the headers they have on Node", async () => {
    const page = await fetch(`${worker.origin}/`, HTML);
    expect(page.status).toBe(200);
    expect(Object.fromEntries(page.headers)).toMatchObject(PAGE_HEADERS);
    const files = filesOf(await page.text());
    expect(files.filter((path) => path.endsWith(".js")).length).toBeGreaterThan(1);
    for (const path of files) {
      const file = await fetch(`${worker.origin}/${path}`);
      expect([path, file.status]).toEqual([path, 200]);
      // No Worker has run, because the response has no request id.
      expect(file.headers.has("x-request-id")).toBe(false);
      expect(Object.fromEntries(file.headers)).toMatchObject({
        ...FILE_HEADERS,
        "content-type": expect.stringMatching(TYPES[extname(path)] ?? /^$/),
      });
    }
  });

  test("everything else is the gateway's: programs at /, /api, and files that are not there", async () => {
    const statusOf = async (path: string, init?: RequestInit) => {
      const response = await fetch(worker.origin + path, init);
      return response.headers.has("x-request-id") ? response.status : "not the gateway";
    };
    expect(await statusOf("/")).toBe(404);
    expect(await statusOf("/", { ...HTML, method: "HEAD" })).toBe(200);
    expect(await statusOf("/api", HTML)).toBe(200);
    expect(await statusOf("/openapi.json")).toBe(200);
    expect(await statusOf("/app/chat-0123456789abcdef/style.css")).toBe(404);
    expect(await statusOf("/_headers")).toBe(404);
    expect(await statusOf("/index.html", HTML)).toBe(404);
    expect(await statusOf("/inspect", HTML)).toBe(404);
  });

  describe.skipIf(MISSING !== undefined)(
    `in a browser (${MISSING === undefined ? "Chromium" : `skipped: ${MISSING}`})`,
    () => {
      test("the chat answers through all APIs, and nothing is refused by the content security policy", async () => {
        const browser = await launchBrowser();
        onTestFinished(() => browser.close());
        const { page, problems, requested } = await openPage(browser, `${worker.origin}/`);
        for (const api of ["chat", "responses", "messages"]) {
          await chat.chooseApi(page, api);
          await chat.send(page, `Hello by ${api}!`);
          await chat.answered(page, `Hello by ${api}!`);
        }
        expect(requested.filter((url) => !url.startsWith(worker.origin))).toEqual([]);
        expect(problems).toEqual([]);
      });
    },
  );
});

const TYPES: Readonly<Record<string, RegExp>> = {
  ".js": /^text\/javascript/,
  ".css": /^text\/css/,
  ".svg": /^image\/svg\+xml/,
};

/** Sends a request to one of two Workers. */
type Send = (path: string, body: object) => Promise<Response>;

interface TwoWorkers {
  readonly engine: ScriptedEngine;
  readonly sends: readonly Send[];
}

/** Pairs of Workers, named by their shared part: the ids of their KV namespaces or D1 databases, and the settings of both. */
const PAIRS = {
  "shared-database": { namespaces: ["kept", "kept"], settings: { store: "d1:DATABASE" } },
  "shared-namespace": { namespaces: ["kept", "kept"], settings: {} },
  "shared-key": {
    namespaces: ["his", "hers"],
    settings: {
      reasoningPolicy: "sealed",
      sealingKeys: [Buffer.alloc(32, "k").toString("base64url")],
    },
  },
  "nothing-shared": { namespaces: ["mine", "yours"], settings: {} },
};

describe("Workers with an engine", () => {
  let server: EngineServer;
  let harness: ReturnType<typeof createTestHarness>;
  /** The origin of the first Worker. */
  let origin: string;

  // All Workers start at once, because each start of the harness takes seconds.
  beforeAll(async () => {
    server = await startEngineServer(scriptedEngine([]));
    const toConfig = (name: string, namespace: string, settings: object) => ({
      config: {
        name,
        main: join(inject("workerBundle"), "worker.js"),
        no_bundle: true,
        compatibility_date: "2026-10-01",
        compatibility_flags: ["enable_request_signal"],
        kv_namespaces: [{ binding: "STORE", id: namespace }],
        d1_databases: [{ binding: "DATABASE", database_id: namespace, database_name: namespace }],
        vars: toVariables({
          engine: "vllm",
          url: server.url,
          open: true,
          store: "kv:STORE",
          ...settings,
        }),
      },
    });
    harness = createTestHarness({
      workers: [
        toConfig("single", "single", {}),
        ...Object.entries(PAIRS).flatMap(([name, { namespaces, settings }]) =>
          namespaces.map((namespace, at) => toConfig(`${name}-${at}`, namespace, settings)),
        ),
      ],
    });
    ({ origin } = (await harness.listen()).url);
  });
  afterAll(() => Promise.all([harness.close(), server.close()]));

  test.each(Object.entries(CLIENTS))(
    "with reasoning stored in KV no client's tool loop loses reasoning: %s",
    async (_, connect) => {
      const engine = recordingEngine(createEngine("demo", { model: "demo" }));
      server.serve(engine);
      const say = connect(`${origin}/v1`);
      expect(await say("For Oslo: get_weather, then search_flights, then book_hotel.")).toContain(
        "Booked in Oslo",
      );
      // Strict tools take a second engine call, which goes on from the call's header.
      const prompts = engine.prompts.filter((prompt) => prompt.endsWith("<|start|>assistant"));
      expect(prompts.map((prompt) => analysisIn(prompt).length)).toEqual([0, 1, 2, 3]);
    },
  );

  function connectTwo(pair: keyof typeof PAIRS): TwoWorkers {
    const engine = scriptedEngine([...loopScripts("one"), ...loopScripts("two")]);
    server.serve(engine);
    const sends = PAIRS[pair].namespaces.map((_, at): Send => async (path, body) => {
      const worker = harness.getWorker(`${pair}-${at}`);
      const answer = await worker.fetch(path, { method: "POST", body: JSON.stringify(body) });
      // The harness returns responses of another library, which become responses of the platform here.
      return new Response(await answer.arrayBuffer(), {
        status: answer.status,
        headers: [...answer.headers],
      });
    });
    return { engine, sends };
  }

  function toPosts(sends: readonly Send[]): Post[] {
    return sends.map((send) => (body) => send("/v1/chat/completions", body));
  }

  const SHARED = ["shared-database", "shared-namespace"] as const;

  test.each(SHARED)("two with one store restore each other's reasoning: %s", async (pair) => {
    const { engine, sends } = connectTwo(pair);
    const { outcomes } = await runLoop(toPosts(sends), { remember: forgetful });
    expect(outcomes).toEqual([null, "stored", "stored", "stored"]);
    expect(engine.prompts.map((prompt) => analysisIn(prompt))).toEqual(WHOLE);
  });

  test.each(SHARED)("two with one store continue each other's responses: %s", async (pair) => {
    const { engine, sends } = connectTwo(pair);
    const tools = [{ type: "function", name: "step", parameters: { type: "object" } }];
    let previous: z.infer<typeof responsesReply> | undefined;
    for (const send of [...sends, ...sends]) {
      const call = previous?.output.find(({ type }) => type === "function_call");
      const answer = await send("/v1/responses", {
        model: "openai/gpt-oss-20b",
        tools,
        input: call
          ? [{ type: "function_call_output", call_id: call.call_id, output: "ok" }]
          : "Go.",
        ...(previous && { previous_response_id: previous.id }),
      });
      previous = responsesReply.parse(await answer.json());
    }
    expect(previous?.output.at(-1)?.type).toBe("message");
    expect(engine.prompts.map((prompt) => analysisIn(prompt))).toEqual(WHOLE);
  });

  const FORGETFUL = ["@ai-sdk/openai chat, streamed", "@langchain/openai, streamed"] as const;

  test.each(SHARED.flatMap((pair) => FORGETFUL.map((client) => [pair, client] as const)))(
    "two with one store (%s) share a tool loop of a client that forgets its reasoning: %s",
    async (pair, client) => {
      const engine = recordingEngine(createEngine("demo", { model: "demo" }));
      server.serve(engine);
      const balancer = await balance([0, 1].map((at) => harness.getWorker(`${pair}-${at}`)));
      try {
        const say = CLIENTS[client]?.(`${balancer.origin}/v1`);
        const answer = await say?.("For Oslo: get_weather, then search_flights, then book_hotel.");
        expect(answer).toContain("Booked in Oslo");
      } finally {
        await balancer.close();
      }
      expect(balancer.taken).toEqual([2, 2]);
      const prompts = engine.prompts.filter((prompt) => prompt.endsWith("<|start|>assistant"));
      expect(prompts.map((prompt) => analysisIn(prompt).length)).toEqual([0, 1, 2, 3]);
    },
  );

  test("two that share only a sealing key decrypt the seals that clients carry between them", async () => {
    const { engine, sends } = connectTwo("shared-key");
    const { outcomes } = await runLoop(toPosts(sends));
    expect(outcomes).toEqual([null, "sealed", "sealed", "sealed"]);
    expect(engine.prompts.map((prompt) => analysisIn(prompt))).toEqual(WHOLE);
  });

  test("two that share nothing lose reasoning that clients do not send back, and report it", async () => {
    const { sends } = connectTwo("nothing-shared");
    const { outcomes } = await runLoop(toPosts(sends), { remember: forgetful });
    expect(outcomes).toEqual([null, "lost", "lost", "lost"]);
  });
});

type Worker = ReturnType<ReturnType<typeof createTestHarness>["getWorker"]>;

/** A server that passes each request to the next of the Workers, and streams the answer back. */
async function balance(workers: readonly Worker[]) {
  const taken = workers.map(() => 0);
  let next = 0;
  const balancer = createServer((request, response) => {
    const at = next++ % workers.length;
    taken[at] = (taken[at] ?? 0) + 1;
    void (async () => {
      const body = await text(request);
      const answer = await workers[at]?.fetch(request.url ?? "/", { method: "POST", body });
      response.writeHead(answer?.status ?? 500, Object.fromEntries(answer?.headers ?? []));
      for await (const bytes of answer?.body ?? []) response.write(bytes);
      response.end();
    })();
  });
  const port = await listenAnywhere(balancer);
  return {
    origin: `http://127.0.0.1:${port}`,
    taken,
    async close() {
      balancer.closeAllConnections();
      balancer.close();
      await once(balancer, "close");
    },
  };
}

/** Reasoning in each prompt of a loop if nothing is lost. */
const WHOLE = [[], ["one 1"], ["one 1", "one 2"], ["one 1", "one 2", "one 3"]];

const LogLine = z.looseObject({ event: z.string() });
