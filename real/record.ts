/**
 * Records what a real inference server sends, byte for byte, through the gateway's own adapter.
 *
 *     node real/record.ts vllm http://127.0.0.1:8000 0.32.0
 *
 * Writes the bodies to `test/fixtures/recorded/<engine>/<scenario>.*`, and in `recording.json` what the adapter made of
 * each. The server must serve the tiny model (see README.md): a recording is compared by what it says.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server as HttpServer } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { createEngine, ENGINE_KINDS } from "../src/engines/create-engine.ts";
import { EngineError } from "../src/engines/engine-error.ts";
import type { CompletionRequest, Engine, Prompt } from "../src/engines/engine.ts";
import { o200kHarmony, SPECIAL_TOKENS, type TokenId } from "../src/tokenizer/index.ts";
import { listenAnywhere } from "../test/helpers/listen.ts";

const MODEL = "openai/gpt-oss-20b";
const [kindName, url, version] = process.argv.slice(2);
const kind = ENGINE_KINDS.find((each) => each === kindName);
if (kind === undefined || url === undefined || version === undefined) {
  throw new Error("usage: node real/record.ts ENGINE URL VERSION");
}

interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly request: string;
  readonly status: number;
  readonly contentType: string;
  /** As it came. */
  body: string;
}

const exchanges: Exchange[] = [];
const proxy = await startProxy(url);
const folder = join(import.meta.dirname, "../test/fixtures/recorded", kind);
mkdirSync(folder, { recursive: true });
const engine = createEngine(kind, { url: proxy.url, model: MODEL });

const recording: Record<string, object> = {};
const { description } = await engine.probe(AbortSignal.timeout(60_000));
save("probe", { description, capabilities: engine.capabilities });
for (const [name, request] of Object.entries(scenarios())) {
  save(name, { maxTokens: request.maxTokens, ...(await complete(engine, request)) });
}
const about = { engine: kind, version, date: new Date().toISOString().slice(0, 10), model: "tiny" };
writeFileSync(join(folder, "recording.json"), `${JSON.stringify({ about, recording }, null, 2)}\n`);
await proxy.close();

/** Files of the exchanges since the last call, and what came of them. */
function save(scenario: string, outcome: object): void {
  const files = exchanges.splice(0).map((exchange, index) => {
    const { method, path, request, status, contentType, body } = exchange;
    const type = contentType.includes("event-stream")
      ? "sse"
      : contentType.includes("ndjson")
        ? "ndjson"
        : "json";
    const file = `${scenario}${index === 0 ? "" : `-${index + 1}`}.${type}`;
    writeFileSync(join(folder, file), body);
    return { method, path, request, status, contentType, file };
  });
  recording[scenario] = { exchanges: files, outcome };
  console.log(scenario, JSON.stringify(outcome).slice(0, 200));
}

function scenarios(): Record<string, CompletionRequest> {
  const asked = ["<|start|>", "user", "<|message|>", "Hi", "<|end|>", "<|start|>", "assistant"];
  const prompt = toPrompt(asked);
  const inFinal = toPrompt([...asked, "<|channel|>", "final", "<|message|>"]);
  const { constraints, logprobs } = engine.capabilities;
  const schema = '{"type":"object","properties":{"a":{"enum":["Hello","bye"]}},"required":["a"]}';
  return {
    answer: toRequest(prompt),
    length: toRequest(prompt, { maxTokens: 5 }),
    "stop-id": toRequest(prompt, { stopIds: [SPECIAL_TOKENS["<|end|>"]] }),
    "split-character": toRequest(inFinal, { maxTokens: 4 }),
    "too-long": toRequest(prompt, { maxTokens: 1_000_000 }),
    ...(logprobs && { logprobs: toRequest(prompt, { topLogprobs: 2, maxTokens: 25 }) }),
    ...(constraints.includes("json-schema") && {
      "json-schema": toRequest(inFinal, {
        constraint: { type: "json-schema", schema },
        maxTokens: 40,
      }),
    }),
    ...(constraints.includes("choice") && {
      choice: toRequest(inFinal, {
        constraint: { type: "choice", options: ["bye", "Hello"] },
        maxTokens: 10,
      }),
    }),
  };
}

function toRequest(prompt: Prompt, changes: Partial<CompletionRequest> = {}): CompletionRequest {
  return {
    prompt,
    maxTokens: 200,
    sampling: {
      temperature: 0,
      topP: 1,
      topK: 0,
      minP: 0,
      frequencyPenalty: 0,
      presencePenalty: 0,
      repetitionPenalty: 1,
    },
    stopIds: [SPECIAL_TOKENS["<|return|>"], SPECIAL_TOKENS["<|call|>"]],
    requestId: "recording",
    ...changes,
  };
}

function toPrompt(parts: readonly string[]): Prompt {
  const special = new Map<string, TokenId>(Object.entries(SPECIAL_TOKENS));
  const ids = parts.flatMap((part) => special.get(part) ?? o200kHarmony().encode(part));
  return { ids, idsJson: () => ids.join(","), text: () => parts.join("") };
}

async function complete(asked: Engine, request: CompletionRequest): Promise<object> {
  let ids: TokenId[] = [];
  let written = "";
  let logprobs = 0;
  try {
    for await (const event of asked.complete(request, AbortSignal.timeout(300_000))) {
      if (event.type === "ids") {
        ids.push(...event.ids);
        logprobs += event.logprobs?.length ?? 0;
      } else if (event.type === "text") written += event.text;
      else if (event.type === "pieces") {
        written += event.pieces
          .map((piece) => ("text" in piece ? piece.text : spell(piece)))
          .join("");
      } else if (event.type === "finish") {
        const { reason, nativeReason, usage } = event;
        const content = ids.length > 0 ? o200kHarmony().decode(ids) : written;
        return { content, ids, logprobs, reason, nativeReason, usage };
      }
    }
    return { error: "the stream ended without a finish" };
  } catch (error) {
    if (error instanceof EngineError) return { error: error.kind, message: error.message };
    throw error;
  }
}

function spell({ special }: { readonly special: TokenId }): string {
  return o200kHarmony().decode([special]);
}

/** Passes everything on, and keeps it. */
async function startProxy(target: string): Promise<{ url: string; close(): Promise<void> }> {
  const server: HttpServer = createServer((incoming, outgoing) => {
    void (async () => {
      const method = incoming.method ?? "GET";
      const path = incoming.url ?? "/";
      const request = await text(incoming);
      const answer = await fetch(new URL(path, target), {
        method,
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
