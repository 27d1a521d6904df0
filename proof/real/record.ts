/**
 * Records the responses of a real inference server, byte for byte, through the gateway's own adapter.
 *
 *     node proof/real/record.ts vllm http://127.0.0.1:8000 0.32.0
 *
 * Writes the bodies to `test/fixtures/recorded/<engine>/<scenario>.*`, and in `recording.json` what the adapter made of
 * each. The server should serve the tiny model (see README.md). Where it cannot, a fourth argument names what it serves.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server as HttpServer } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { createEngine, ENGINE_KINDS } from "../../src/engines/create-engine.ts";
import type { CompletionRequest, Engine } from "../../src/engines/engine.ts";
import { SPECIAL_TOKENS } from "../../src/tokenizer/index.ts";
import { complete, textOf } from "../../test/engines/support.ts";
import { listenAnywhere } from "../../test/helpers/listen.ts";
import { CONSTRAINED } from "./constrained.ts";
import { inFinal, tinyRequest, toPrompt } from "./tiny-model.ts";

const MODEL = "openai/gpt-oss-20b";
const [kindName, url, version, model = "tiny"] = process.argv.slice(2);
const kind = ENGINE_KINDS.find((each) => each === kindName);
if (kind === undefined || url === undefined || version === undefined) {
  throw new Error("usage: node proof/real/record.ts ENGINE URL VERSION [MODEL]");
}

interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly request: string;
  readonly status: number;
  readonly contentType: string;
  /** The body as received. */
  body: string;
}

const exchanges: Exchange[] = [];
const proxy = await startProxy(url);
const folder = join(import.meta.dirname, "../../test/fixtures/recorded", kind);
mkdirSync(folder, { recursive: true });
const engine = createEngine(kind, { url: proxy.url, model: MODEL });

const recording: Record<string, object> = {};
const { description } = await engine.probe(AbortSignal.timeout(60_000));
save("probe", { description, capabilities: engine.capabilities });
for (const [name, request] of Object.entries(scenarios())) {
  save(name, { maxTokens: request.maxTokens, ...(await outcomeOf(engine, request)) });
}
save("left", await leave(engine));
const stranger = createEngine(kind, { url: proxy.url, model: "no-such-model" });
save("unknown-model", {
  maxTokens: 5,
  ...(await outcomeOf(stranger, tinyRequest({ maxTokens: 5 }))),
});
const about = { engine: kind, version, date: new Date().toISOString().slice(0, 10), model };
writeFileSync(join(folder, "recording.json"), `${JSON.stringify({ about, recording }, null, 2)}\n`);
await proxy.close();

/** Files of the exchanges since the last call, and their results. */
function save(scenario: string, outcome: object): void {
  const files = exchanges.splice(0).map((exchange, index) => {
    const { method, path, request, status, contentType, body } = exchange;
    const type = contentType.includes("event-stream")
      ? "sse"
      : contentType.includes("ndjson")
        ? "ndjson"
        : "json";
    const file = `${scenario}${index === 0 ? "" : `-${index + 1}`}.${type}`;
    // The path of the model is specific to this machine.
    writeFileSync(
      join(folder, file),
      body.replaceAll(/"\/[^"]*\/((?:tiny|random)-[^"/]*)"/g, '"/models/$1"'),
    );
    return { method, path, request: request.slice(0, 2000), status, contentType, file };
  });
  recording[scenario] = { exchanges: files, outcome };
  console.log(scenario, JSON.stringify(outcome).slice(0, 200));
}

function scenarios(): Record<string, CompletionRequest> {
  const { constraints, logprobs } = engine.capabilities;
  const constrained = CONSTRAINED.filter(({ constraint }) => constraints.includes(constraint.type));
  return {
    answer: tinyRequest(),
    length: tinyRequest({ maxTokens: 5 }),
    "stop-id": tinyRequest({ stopIds: [SPECIAL_TOKENS["<|end|>"]] }),
    "split-character": tinyRequest({ prompt: inFinal(), maxTokens: 4 }),
    "too-long": tinyRequest({ prompt: toPrompt(Array.from({ length: 20_000 }, () => 976)) }),
    ...(logprobs && { logprobs: tinyRequest({ topLogprobs: 2, maxTokens: 25 }) }),
    ...Object.fromEntries(
      constrained.map(({ constraint, startsInFinal }) => [
        constraint.type,
        tinyRequest({ constraint, maxTokens: 40, ...(startsInFinal && { prompt: inFinal() }) }),
      ]),
    ),
    ...(constraints.includes("json-schema") && {
      "bad-schema": tinyRequest({
        constraint: { type: "json-schema", schema: '{"type":"nonsense"}' },
        maxTokens: 5,
      }),
    }),
  };
}

async function outcomeOf(asked: Engine, request: CompletionRequest): Promise<object> {
  const found = await complete(asked, request, AbortSignal.timeout(300_000));
  if (found.error !== undefined) return { error: found.error.kind, message: found.error.message };
  const { ids = [], logprobs = [], finish } = found;
  const { reason, nativeReason, usage } = finish ?? {};
  return { content: textOf(found), ids, logprobs: logprobs.length, reason, nativeReason, usage };
}

/** Disconnects in the middle of an answer: the recorded stream breaks off there. */
async function leave(asked: Engine): Promise<object> {
  let events = 0;
  for await (const event of asked.complete(tinyRequest(), AbortSignal.timeout(300_000))) {
    events += 1;
    if (event.type !== "open" && events > 4) break;
  }
  return { error: "closed" };
}

/** Forwards everything, and records it. */
async function startProxy(target: string): Promise<{ url: string; close(): Promise<void> }> {
  const server: HttpServer = createServer((incoming, outgoing) => {
    void (async () => {
      const method = incoming.method ?? "GET";
      const path = incoming.url ?? "/";
      const request = await text(incoming);
      const left = new AbortController();
      outgoing.on("close", () => left.abort());
      const answer = await fetch(new URL(path, target), {
        method,
        signal: left.signal,
        headers: { "content-type": incoming.headers["content-type"] ?? "application/json" },
        ...(method !== "GET" && { body: request }),
      });
      const contentType = answer.headers.get("content-type") ?? "";
      const exchange = { method, path, request, status: answer.status, contentType, body: "" };
      exchanges.push(exchange);
      outgoing.writeHead(answer.status, { "content-type": contentType });
      const decoder = new TextDecoder();
      if (answer.body !== null) {
        for await (const bytes of Readable.fromWeb(answer.body)) {
          exchange.body += decoder.decode(bytes, { stream: true });
          outgoing.write(bytes);
        }
      }
      outgoing.end();
    })().catch(() => outgoing.destroy());
  });
  const port = await listenAnywhere(server);
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
