import { execFile, spawnSync } from "node:child_process";
import { createServer } from "node:http";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fromBody, toBody } from "../../src/snippets/bodies.ts";
import type { ApiName, Composed } from "../../src/snippets/composed.ts";
import { CLIENTS, toSnippet } from "../../src/snippets/index.ts";
import { isObject } from "../../src/snippets/read.ts";
import { startTestGateway, type TestGateway } from "../helpers/gateway.ts";
import { REQUESTS, withSealed } from "./requests.ts";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../..");
const HAS_PYTHON = spawnSync("python3", ["--version"]).status === 0;
const KEY = "it's a $key";

/** The bodies that reach the gateway, in order. */
const recorded: { readonly path: string; readonly key: string; readonly body: unknown }[] = [];
let gateway: TestGateway;
let origin = "";
/** The folder in which snippets run; it links the packages of the checkout. */
let folder = "";
const server = createServer((request, response) => {
  void (async () => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const text = Buffer.concat(chunks).toString();
    const { authorization, "x-api-key": key = authorization?.replace("Bearer ", "") } =
      request.headers;
    recorded.push({ path: request.url ?? "", key: String(key), body: JSON.parse(text) });
    const answer = await fetch(`${gateway.origin}${request.url}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: text,
    });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
    response.end(Buffer.from(await answer.arrayBuffer()));
  })();
});

beforeAll(async () => {
  gateway = await startTestGateway({ settings: { engine: "demo", mediaInput: "placeholder" } });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  folder = await mkdtemp(join(tmpdir(), "snippets-"));
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  // One process for all requests of a client: loading its packages takes most of the time.
  const runAll = "for (const path of process.argv.slice(2)) await import(path);";
  await writeFile(join(folder, "run-all.mjs"), runAll);
});
afterAll(async () => {
  server.close();
  await gateway.close();
  await rm(folder, { recursive: true });
});

/** Parameters that no client of the kind can send; the note names each to the reader. */
const NOTED: Readonly<Record<string, string>> = {
  parallelCalls: "parallel calls",
  temperature: "temperature",
  topP: "top p",
};

function withoutUnsent(composed: Composed, note: string): Composed {
  const options = Object.entries(composed.options).filter(
    ([name]) => !note.includes(NOTED[name] ?? "every option is sent"),
  );
  const isForgetful = note.includes("does not send reasoning back");
  const messages = composed.messages.map((message) =>
    message.role === "assistant" && isForgetful
      ? { ...message, parts: message.parts.filter(({ type }) => type !== "reasoning") }
      : message,
  );
  const tools = composed.tools.map(({ strict, ...tool }) =>
    strict === undefined || note.includes("strict") ? tool : { ...tool, strict },
  );
  return { ...composed, messages, tools, options: Object.fromEntries(options) };
}

/** Clients may spell fields in their own words: both are read the same way. Arguments are compared as values. */
function normalize(api: ApiName, body: unknown): object {
  const composed = fromBody(api, isObject(body) ? body : {});
  return JSON.parse(
    JSON.stringify({
      ...composed,
      messages: composed.messages.map((message) =>
        message.role === "user"
          ? message
          : {
              ...message,
              parts: message.parts.map((part) =>
                part.type === "call" ? { ...part, arguments: JSON.parse(part.arguments) } : part,
              ),
            },
      ),
    }),
  );
}

function strictTools(api: ApiName, body: unknown): string[] {
  const { tools } = fromBody(api, isObject(body) ? body : {});
  return tools.filter(({ strict }) => strict).map(({ name }) => name);
}

/** Clients whose snippets run here: not settings files, and not Python, whose packages are not installed. */
const RUNNABLE = CLIENTS.filter(({ id, isSettings }) => !isSettings && !/python/.test(id)).flatMap(
  (client) => client.apis.map((api) => [client.id, api] as const),
);

test.each(RUNNABLE)("%s through %s sends each request whole", async (id, api) => {
  const requests = [...Object.values(REQUESTS), withSealed(api)];
  const bodies = requests.map((composed) => toBody(api, composed));
  const snippets = bodies.map((body) => toSnippet(id, { origin, api, body, key: KEY }));
  const paths = snippets.map(({ file }, index) => join(folder, `${id}-${api}-${index}-${file}`));
  await Promise.all(snippets.map(({ code }, index) => writeFile(paths[index] ?? "", code)));
  const before = recorded.length;
  if (id === "curl") for (const path of paths) await run("sh", [path]);
  else await run(process.execPath, [join(folder, "run-all.mjs"), ...paths], { cwd: folder });
  for (const [index, body] of bodies.entries()) {
    const sent = recorded[before + index];
    expect(sent?.key).toBe(KEY);
    const { note = "" } = snippets[index] ?? {};
    const expected = toBody(api, withoutUnsent(fromBody(api, body), note));
    expect(normalize(api, sent?.body)).toMatchObject(normalize(api, expected));
    expect(strictTools(api, sent?.body)).toEqual(strictTools(api, expected));
  }
  expect(recorded).toHaveLength(before + bodies.length);
});

describe.skipIf(!HAS_PYTHON)("Python", () => {
  const clients = CLIENTS.filter(({ id }) => /python/.test(id)).flatMap((client) =>
    client.apis.map((api) => [client.id, api] as const),
  );
  test.each(clients)("%s through %s compiles", async (id, api) => {
    for (const [index, composed] of Object.values(REQUESTS).entries()) {
      for (const key of ["variable", KEY, undefined] as const) {
        const { code } = toSnippet(id, { origin, api, body: toBody(api, composed), key });
        const path = join(folder, `${id}-${api}-${index}-${String(key === "variable")}.py`);
        await writeFile(path, code);
        await expect(run("python3", ["-m", "py_compile", path])).resolves.toBeDefined();
      }
    }
  });

  test.each(clients)("%s through %s has the whole request in its arguments", async (id, api) => {
    const composed = REQUESTS["tools with a result"];
    if (composed === undefined) throw new Error("no request");
    const { code } = toSnippet(id, { origin, api, body: toBody(api, composed), key: undefined });
    for (const part of [
      "get_weather",
      "Paris",
      "call_1",
      "21 °C, it's raining",
      "additionalProperties",
    ]) {
      expect(code).toContain(part);
    }
  });
});

test("a key in the environment is named, never written", () => {
  for (const client of CLIENTS) {
    for (const api of client.apis) {
      const input = {
        origin,
        api,
        body: toBody(api, REQUESTS["plain"] ?? empty()),
        key: "variable",
      } as const;
      expect([client.id, toSnippet(client.id, input).code]).toEqual([
        client.id,
        expect.stringContaining("HARMONY_GATEWAY_KEY"),
      ]);
    }
  }
});

function empty(): Composed {
  return { model: "m", messages: [], tools: [], options: {} };
}

test("a client that does not use an API has no code for it", () => {
  const input = { origin, api: "messages", body: {}, key: undefined } as const;
  expect(() => toSnippet("langchain", input)).toThrow(
    "There is no code of langchain for this API.",
  );
  expect(() => toSnippet("toString", input)).toThrow("There is no code of toString for this API.");
});

test("bodies are read back to the conversation they were made of", () => {
  for (const api of ["chat", "responses", "messages"] as const) {
    for (const composed of Object.values(REQUESTS)) {
      const body = toBody(api, composed);
      expect(fromBody(api, body).messages).toMatchObject(
        JSON.parse(JSON.stringify(composed.messages)),
      );
      expect(toBody(api, fromBody(api, body))).toEqual(body);
    }
  }
});

test("encrypted reasoning is read back, and written as it came", () => {
  for (const api of ["chat", "responses", "messages"] as const) {
    const body = toBody(api, withSealed(api));
    expect(fromBody(api, body).messages).toEqual(withSealed(api).messages);
    expect(toBody(api, fromBody(api, body))).toEqual(body);
  }
});

test("values that fit stay on one line, and calls of tools are printed", () => {
  const body = toBody("chat", REQUESTS["a tool that is not strict"] ?? empty());
  const { code } = toSnippet("ai-sdk", { origin, api: "chat", body, key: undefined });
  expect(code).toContain('messages: [{ role: "user", content: "What time is it?" }],');
  expect(code).toContain("console.log(text, toolCalls);");
});
