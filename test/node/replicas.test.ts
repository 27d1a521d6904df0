/** Several gateways as one: over one Redis, behind one nginx, restarted one after the other. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import * as z from "zod";
import { eventually } from "../helpers/eventually.ts";
import { type GatewayProcess, startGatewayProcess } from "../helpers/gateway-process.ts";
import { startTestGateway } from "../helpers/gateway.ts";
import { type HoldingVllm, startHoldingVllm } from "../helpers/holding-vllm.ts";
import { freePort } from "../helpers/listen.ts";
import { HAS_NGINX, startNginx, type TestNginx } from "../helpers/nginx.ts";
import { HAS_REDIS, startRedis, type TestRedis } from "../helpers/redis.ts";
import { analysisIn, forgetful, loopScripts, type Post, runLoop } from "../helpers/tool-loop.ts";
import { responsesReply } from "../helpers/replies.ts";

const MODEL = "openai/gpt-oss-20b";
const FINAL = "<|channel|>final<|message|>";

describe("gateways with the same engines", () => {
  test("choose the same engine for a conversation, before and after a restart", async () => {
    const engines = await Promise.all([1, 2, 3].map(() => startAnswering()));
    const backends = engines.map(({ url }, at) => ({ engine: "vllm", url, name: `gpu-${at}` }));

    /** The engines that served ten conversations. */
    async function ask(): Promise<number[]> {
      const gateway = await startTestGateway({ settings: { backends } });
      onTestFinished(() => gateway.close());
      const chosen: number[] = [];
      for (let conversation = 0; conversation < 10; conversation++) {
        const before = engines.map(({ prompts }) => prompts.length);
        const messages = [{ role: "user", content: `Conversation ${conversation}.` }];
        await postTo(gateway.baseURL)({ messages });
        chosen.push(engines.findIndex(({ prompts }, at) => prompts.length > (before[at] ?? 0)));
      }
      return chosen;
    }

    const first = await ask();
    expect(new Set(first)).toEqual(new Set([0, 1, 2]));
    expect(await ask()).toEqual(first);
  });

  async function startAnswering(): Promise<HoldingVllm> {
    const engine = await startHoldingVllm(() => `${FINAL}Yes.<|return|>`);
    onTestFinished(() => engine.close());
    return engine;
  }
});

describe.skipIf(!HAS_NGINX || !HAS_REDIS)(
  "two gateways behind nginx over one Redis (skipped if nginx or redis-server is not installed)",
  () => {
    let engine: HoldingVllm;
    let redis: TestRedis;
    let nginx: TestNginx;
    let ports: [number, number];
    let gateways: [GatewayProcess, GatewayProcess];

    beforeAll(async () => {
      engine = await startHoldingVllm((prompt) => {
        if (!prompt.includes("Go.")) return answerWithHistory(prompt);
        return loopScripts("one")[prompt.split("<|start|>functions.step").length - 1] ?? "";
      });
      redis = await startRedis();
      ports = [await freePort(), await freePort()];
      gateways = [await serveGateway(0), await serveGateway(1)];
      nginx = await startNginx(ports);
    });
    afterAll(async () => {
      await nginx.stop();
      await Promise.all(gateways.map((gateway) => gateway.stop()));
      await redis.kill();
      await engine.close();
    });

    async function serveGateway(at: 0 | 1, ...more: string[]): Promise<GatewayProcess> {
      const flags = `--port ${ports[at]} --engine vllm --url ${engine.url} --store ${redis.url} --store-timeout-ms 5000`;
      const gateway = await startGatewayProcess([...flags.split(" "), ...more]);
      const { origin } = new URL(gateway.baseURL);
      await eventually(async () => expect((await fetch(`${origin}/ready`)).status).toBe(200));
      return gateway;
    }

    /** Ends a gateway while answers are held, lets them continue, and starts it again. */
    async function restart(at: 0 | 1, ...flags: string[]): Promise<void> {
      const ended = gateways[at].terminate();
      await eventually(() => expect(gateways[at].output()).toContain('"shutdown"'));
      engine.release();
      expect(await ended).toBe(0);
      engine.hold();
      gateways[at] = await serveGateway(at, ...flags);
    }

    const post: Post = (body) => postTo(`${nginx.origin}/v1`)(body);
    const respond = async (fields: object) => {
      const body = JSON.stringify({ model: MODEL, ...fields });
      return readResponse(await fetch(`${nginx.origin}/v1/responses`, { method: "POST", body }));
    };
    const readStored = async (id: string) =>
      readResponse(await fetch(`${nginx.origin}/v1/responses/${id}`));

    test("a rolling restart loses nothing", async () => {
      const traffic = startTraffic(post);
      let last = await respond({ input: "Number 0." });
      for (const at of [0, 1] as const) {
        const streams = await Promise.all(Array.from({ length: 6 }, () => openStream(post)));
        const background = await respond({ input: "HOLD this.", background: true });
        await eventually(() => expect(engine.open).toBeGreaterThanOrEqual(7));

        await restart(at);
        for (const stream of await Promise.all(streams.map(({ rest }) => rest))) {
          expect(stream).toMatch(/OLD on[^]*data: \[DONE\]\n\n$/);
        }
        await eventually(async () => {
          expect(await readStored(background.id)).toMatchObject({ status: "completed" });
        });
        // Response 2 depends on the messages of 0 and 1.
        last = await respond({ input: `Number ${at + 1}.`, previous_response_id: last.id });
      }
      expect(last.text).toBe("Number 0. Number 1. Number 2.");
      expect(await traffic.stop()).toEqual([]);
      expect(traffic.answered).toBeGreaterThan(0);
    });

    test("reasoning that a client does not send back survives restarts in mid-loop", async () => {
      let step = 0;
      const interrupted: Post = async (body) => {
        const at = step++;
        if (at === 1 || at === 2) await restart(at === 1 ? 0 : 1);
        return post(body);
      };
      const { outcomes } = await runLoop(interrupted, { remember: forgetful });
      expect(outcomes).toEqual([null, "stored", "stored", "stored"]);
      const prompts = engine.prompts.filter((prompt) => prompt.includes("Go."));
      expect(analysisIn(prompts.at(-1))).toEqual(["one 1", "one 2", "one 3"]);
    });

    test("WebSockets pass", async () => {
      const socket = new WebSocket(`${nginx.origin.replace("http", "ws")}/v1/responses`);
      const types: string[] = [];
      await new Promise<void>((resolve, reject) => {
        socket.on("error", reject);
        socket.on("open", () => {
          socket.send(
            JSON.stringify({ type: "response.create", model: MODEL, input: "Number 0." }),
          );
        });
        socket.on("message", (data: Buffer) => {
          types.push(z.object({ type: z.string() }).parse(JSON.parse(data.toString())).type);
          if (types.at(-1) === "response.completed") resolve();
          if (types.at(-1) === "error") reject(new Error(data.toString()));
        });
      });
      socket.close();
      expect(types[0]).toBe("response.created");
    });

    test("a stream's first token does not wait for its second", async () => {
      const { rest } = await openStream(post);
      expect(engine.open).toBe(1);
      engine.release();
      expect(await rest).toMatch(/data: \[DONE\]\n\n$/);
      engine.hold();
    });

    test("a plain answer that outlasts the grace period comes from the other gateway", async () => {
      await restart(0, "--shutdown-grace-ms", "500");
      const before = engine.prompts.length;
      // The gateway with the fewest connections gets the next request, so each gets one.
      const answers = [1, 2].map(() => post({ messages: [{ role: "user", content: "HOLD on." }] }));
      await eventually(() => expect(engine.open).toBe(2));
      expect(await gateways[0].terminate()).toBe(0);
      await eventually(() => expect(engine.prompts.length).toBe(before + 3));
      engine.release();
      for (const answer of await Promise.all(answers)) {
        expect(answer.status).toBe(200);
        expect(await answer.text()).toContain('"HOLD on."');
      }
      engine.hold();
    });

    test("the metrics of one gateway out of two are not served", async () => {
      expect((await fetch(`${nginx.origin}/metrics`)).status).toBe(404);
    });
  },
);

/** An engine that repeats the users' messages. */
function answerWithHistory(prompt: string): string {
  const said = prompt.matchAll(/<\|start\|>user<\|message\|>(.*?)<\|end\|>/gs);
  return `${FINAL}${Array.from(said, ([, text]) => text).join(" ")}<|return|>`;
}

const storedReply = responsesReply.extend({ status: z.string() });

async function readResponse(response: Response) {
  expect(response.status).toBe(200);
  const { id, status, output } = storedReply.parse(await response.json());
  const texts = output.flatMap(({ content = [] }) => content.map(({ text }) => text));
  return { id, status, text: texts.join("") };
}

function postTo(baseURL: string): Post {
  return (body) =>
    fetch(`${baseURL}/chat/completions`, { method: "POST", body: JSON.stringify(body) });
}

/** Resolves when an answer has begun that does not end before it is released. */
async function openStream(post: Post): Promise<{ readonly rest: Promise<string> }> {
  const messages = [{ role: "user", content: "HOLD on." }];
  const { status, body } = await post({ messages, stream: true });
  if (status !== 200 || body === null) throw new Error(`status ${status}`);
  return { rest: new Response(body).text() };
}

/** Repeats requests, two at a time, until it is stopped or the test ends. */
function startTraffic(post: Post) {
  const failures: string[] = [];
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  let answered = 0;
  async function ask(): Promise<void> {
    const response = await post({ messages: [{ role: "user", content: "Number 7." }] });
    const text = await response.text();
    if (response.status === 200 && text.includes('"Number 7."')) answered++;
    else failures.push(`${response.status}: ${text}`);
  }
  async function repeat(): Promise<void> {
    while (!stop.signal.aborted) {
      await ask().catch((error: unknown) => failures.push(String(error)));
      // Starting gateways share the processor with this loop.
      await sleep(20);
    }
  }
  const running = Promise.all([repeat(), repeat()]);
  return {
    get answered() {
      return answered;
    },
    /** Resolves with the failures. */
    async stop(): Promise<readonly string[]> {
      stop.abort();
      await running;
      return failures;
    },
  };
}
