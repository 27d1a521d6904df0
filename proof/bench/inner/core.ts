/**
 * From the bytes of the engine's stream to those of the gateway's, without sockets: the pure core alone, a common
 * implementation, and the whole application. In microseconds per token, in a process of its own.
 */
import { createParser as createSseParser } from "eventsource-parser";

import { createChunkWriter } from "../../../src/api/chat-completions/to-chunks.ts";
import type { EngineTokens } from "../../../src/engines/engine.ts";
import { createCompletionReader } from "../../../src/engines/completion-reader.ts";
import { connectServer } from "../../../src/engines/server.ts";
import { createSseSplitter } from "../../../src/engines/sse.ts";
import { o200kHarmony } from "../../../src/tokenizer/index.ts";
import { createPartEmitter } from "../../../src/turn/output/part-emitter.ts";
import { createTurnParser } from "../../../src/turn/reading/turn-parser.ts";
import type { TurnEvent } from "../../../src/turn/turn.ts";
import {
  closingEvents,
  fillIn,
  planCompletion,
  stopIdOf,
  tokenEvent,
} from "../streaming/completion.ts";
import { createRequest, MODEL } from "../streaming/requests.ts";
import { toMeasured } from "../statistics.ts";
import { createBenchApp, createReplay, type Reads, toRequest } from "./app.ts";

/** Microseconds per token: median of the passes. */
export type CoreNumbers = Readonly<Record<string, number>>;

const TOKENS = 5000;
const PASSES = Number(process.argv[2] ?? 20);
const READ_BYTES = 65_536;

const words = fillIn(planCompletion("loop", TOKENS));
const texts = [
  ...words.map((word) => tokenEvent(word)),
  ...closingEvents(stopIdOf("loop"), words.length + 1),
];
/** All reads are parts of one buffer, as those of our HTTP client are. */
const bytes = Buffer.from(texts.join(""));
let end = 0;
const events: Reads = { bytes, ends: texts.map((text) => (end += Buffer.byteLength(text))) };
const lumps: Reads = {
  bytes,
  ends: Array.from({ length: Math.ceil(bytes.length / READ_BYTES) }, (_, at) =>
    Math.min((at + 1) * READ_BYTES, bytes.length),
  ),
};
const server = connectServer("vllm", { url: "http://127.0.0.1:1", model: MODEL });
const encoder = new TextEncoder();
/** Stands in for the socket, to which frames are written as in `node/server/direct-sse.ts`. */
const sent = Buffer.alloc(1024 * 1024);
const { path, body } = createRequest("chat");

const runs: Record<string, () => number | Promise<number>> = {
  "core, one event per read": () => core(events),
  "core, reads of 64 KB": () => core(lumps),
  "naive, one event per read": () => naive(events),
  "naive, reads of 64 KB": () => naive(lumps),
  "application, one event per read": () => application(events),
  "application, reads of 64 KB": () => application(lumps),
};
const times: Record<string, number[]> = {};
for (let pass = -5; pass < PASSES; pass++) {
  for (const [name, run] of Object.entries(runs)) {
    const start = process.hrtime.bigint();
    const written = await run();
    const microseconds = Number(process.hrtime.bigint() - start) / 1000;
    if (written < TOKENS * 4) throw new Error(`${name}: ${written} bytes are not the answer`);
    if (pass >= 0) (times[name] ??= []).push(microseconds / words.length);
  }
}
process.send?.(
  Object.fromEntries(Object.entries(times).map(([name, all]) => [name, toMeasured(all).median])),
);

/** The application's work on each read, with the fast path of `turn/sampling/fast-path.ts`, without the promises in between. */
function core(reads: Reads): number {
  const completion = createCompletionReader(server);
  const splitter = createSseSplitter(completion);
  const parser = createTurnParser(o200kHarmony(), {
    builtins: [],
    toolNames: ["note"],
    textTools: [],
    markers: "shown",
    allowHiddenMarkers: false,
    onShownMarker: () => undefined,
  });
  const emitter = createPartEmitter({
    stop: [],
    textSeparator: undefined,
    newCallId: () => "call_1",
    foldPreambles: false,
    omits: [],
    refuses: () => false,
    checks: () => false,
  });
  const writer = createChunkWriter(
    {
      id: "gen-1",
      created: 1,
      model: MODEL,
      provider: "vllm",
      reasoning: "text",
      mirrorReasoning: false,
      legacyFunctions: false,
      customTools: new Set(),
      usageWithoutChoices: false,
      logprobs: false,
      errorCodes: "strings",
    },
    0,
  );
  const toEvents = (tokens: EngineTokens): readonly TurnEvent[] => {
    if (tokens.type !== "ids" || !parser.canContinueBody(tokens.ids)) {
      return emitter.push(parser.push(tokens));
    }
    const text = parser.continueBody(tokens.ids, 0, tokens.ids.length);
    const event = emitter.continuePart(text);
    return event === undefined ? emitter.push([{ type: "part-delta", text }]) : [event];
  };
  let written = 0;
  let from = 0;
  for (const to of reads.ends) {
    splitter.push(reads.bytes.subarray(from, to), (event) => {
      if (event !== "[DONE]") completion.push(event);
    });
    from = to;
    const tokens = completion.drain();
    if (tokens === undefined) continue;
    let frames = "";
    for (const event of toEvents(tokens)) frames += writer.push(event);
    written += sent.write(frames, Buffer.byteLength(frames) === frames.length ? "latin1" : "utf8");
  }
  return written;
}

/**
 * As proxies usually do it: every event is parsed, Harmony is read from its text, and a chunk is built as an object and
 * serialized.
 */
function naive(reads: Reads): number {
  const decoder = new TextDecoder();
  let written = 0;
  let channel = "";
  let isBody = false;
  const parser = createSseParser({
    onEvent({ data }) {
      if (data === "[DONE]") return;
      const { choices } = JSON.parse(data);
      const text: string = choices[0]?.text ?? "";
      if (/^<\|(start|channel|end|call|return)\|>$/.test(text)) {
        isBody = false;
        channel = "";
        return;
      }
      if (text === "<|message|>") {
        isBody = true;
        return;
      }
      if (!isBody) {
        channel += text;
        return;
      }
      const delta =
        channel === "analysis"
          ? {
              content: "",
              reasoning: text,
              reasoning_details: [{ type: "reasoning.text", text, index: 0 }],
            }
          : channel.includes("to=")
            ? { tool_calls: [{ index: 0, function: { arguments: text } }] }
            : { content: text };
      const chunk = {
        id: "gen-1",
        object: "chat.completion.chunk",
        created: 1,
        model: MODEL,
        provider: "vllm",
        choices: [
          { index: 0, delta, finish_reason: null, native_finish_reason: null, logprobs: null },
        ],
      };
      written += encoder.encode(`data: ${JSON.stringify(chunk)}\n\n`).length;
    },
  });
  let from = 0;
  for (const to of reads.ends) {
    parser.feed(decoder.decode(reads.bytes.subarray(from, to), { stream: true }));
    from = to;
  }
  return written;
}

async function application(reads: Reads): Promise<number> {
  const app = createBenchApp(createReplay(reads));
  const response = await app.fetch(toRequest(path, body));
  let written = 0;
  for await (const read of response.body ?? []) written += read.length;
  return written;
}
