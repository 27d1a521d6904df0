/** Shared by the engine tests: scripted transports, a request with every field, comparable events. */
import { readFileSync } from "node:fs";
import {
  type CompletionRequest,
  type Engine,
  EngineError,
  type EngineEvent,
  type Transport,
} from "../../src/index.ts";
import { o200kHarmony, type TokenId } from "../../src/tokenizer/index.ts";
import { requestText } from "../helpers/request-text.ts";
import { NEUTRAL_SAMPLING, promptOf } from "../helpers/spelled.ts";

export type TransportRequest = Parameters<Transport>[0];
export type TransportResponse = Awaited<ReturnType<Transport>>;
type EngineFinish = Extract<EngineEvent, { type: "finish" }>;
type EnginePiece = Extract<EngineEvent, { type: "pieces" }>["pieces"][number];
type TokenLogprob = NonNullable<Extract<EngineEvent, { type: "ids" }>["logprobs"]>[number];

/** Accepts bytes and calls `take` with each event that they complete. */
interface Reader<Event, Result> {
  push(bytes: Uint8Array, take: (event: Event) => Result): unknown;
}

/** The bytes of a file under `test/fixtures/engines`. */
export function readFixture(name: string): Uint8Array {
  return readFileSync(new URL(`../fixtures/engines/${name}`, import.meta.url));
}

/** The events that these bytes complete. */
export function eventsOf(splitter: Reader<string, void>, bytes: Uint8Array): string[] {
  const events: string[] = [];
  const hasAny = splitter.push(bytes, (event) => void events.push(event));
  if (hasAny !== events.length > 0) throw new Error("the splitter says otherwise");
  return events;
}

/** The events of one read of these bytes. */
export function decodeRead(
  decoder: Reader<EngineEvent, boolean>,
  bytes: Uint8Array,
): EngineEvent[] {
  const events: EngineEvent[] = [];
  void decoder.push(bytes, (event) => events.push(event) > 0);
  return events;
}

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The reads of the body, one after another; an error is a read that fails. */
  readonly pieces: readonly (Uint8Array | Error)[];
}

export interface ScriptedTransport extends Transport {
  readonly requests: TransportRequest[];
  /** The grace time with which each response was closed. `undefined`: the response is open. */
  readonly closes: (number | "at once" | undefined)[];
}

/** Answers each request by `script`. No network, no time. */
export function scriptTransport(
  script: (request: TransportRequest, count: number) => Answer | Error,
): ScriptedTransport {
  const requests: TransportRequest[] = [];
  const closes: ScriptedTransport["closes"] = [];
  const transport: Transport = async (request) => {
    request.signal.throwIfAborted();
    const count = requests.push(request) - 1;
    const answer = script(request, count);
    if (answer instanceof Error) throw answer;
    return toResponse(answer, request, (graceMs) => {
      closes[count] ??= graceMs ?? "at once";
    });
  };
  return Object.assign(transport, { requests, closes });
}

function toResponse(
  { status = 200, headers = { "content-type": "text/event-stream" }, pieces }: Answer,
  { signal }: TransportRequest,
  close: (graceMs?: number) => void,
): TransportResponse {
  return {
    status,
    headers: { get: (name) => headers[name.toLowerCase()] ?? null },
    pump: async (take) => {
      for (const piece of pieces) {
        signal.throwIfAborted();
        if (piece instanceof Error) throw piece;
        // A part of a larger buffer, as undici gives out the body of a chunk.
        const around = Buffer.from('data: {"choices":[{"index":0,"text":"not sent"}]}\n\n');
        const buffer = Buffer.concat([around, piece, around]);
        if (!(await take(buffer.subarray(around.length, around.length + piece.length)))) return;
      }
      signal.throwIfAborted();
    },
    close,
  };
}

export function jsonAnswer(value: unknown, status = 200): Answer {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return {
    status,
    headers: { "content-type": "application/json" },
    pieces: [new TextEncoder().encode(text)],
  };
}

export function streamOf(...texts: string[]): Answer {
  return { pieces: texts.map((text) => new TextEncoder().encode(text)) };
}

const PROMPT: CompletionRequest["prompt"] = {
  ...promptOf([200006, 1428, 200008, 12194, 200007]),
  text: () => "<|start|>user<|message|>Hi<|end|>",
};

export function requestOf(changes: Partial<CompletionRequest> = {}): CompletionRequest {
  return {
    prompt: PROMPT,
    maxTokens: 4096,
    sampling: NEUTRAL_SAMPLING,
    stopIds: [200002, 200012],
    requestId: "px-1",
    ...changes,
  };
}

/** A completion with its token events joined, so that it does not depend on how the bytes were split. */
export interface Collected {
  readonly opens: number;
  readonly ids?: readonly TokenId[];
  readonly logprobs?: readonly TokenLogprob[];
  readonly pieces?: readonly EnginePiece[];
  readonly text?: string;
  readonly tokens?: number;
  readonly finish?: EngineFinish;
  /** Instead of a finish. */
  readonly error?: { readonly kind: string; readonly message: string };
}

export async function complete(
  engine: Engine,
  request: CompletionRequest = requestOf(),
  signal: AbortSignal = new AbortController().signal,
): Promise<Collected> {
  const events: EngineEvent[] = [];
  try {
    for await (const event of engine.complete(request, signal)) events.push(event);
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    return { ...join(events), error: { kind: error.kind, message: error.message } };
  }
  return join(events);
}

export function join(events: readonly EngineEvent[]): Collected {
  let joined: Collected = { opens: 0 };
  for (const event of events) joined = add(joined, event);
  return joined;
}

function add(joined: Collected, event: EngineEvent): Collected {
  switch (event.type) {
    case "open":
      return { ...joined, opens: joined.opens + 1 };
    case "progress":
      return joined;
    case "ids":
      return {
        ...joined,
        ids: [...(joined.ids ?? []), ...event.ids],
        ...(event.logprobs && { logprobs: [...(joined.logprobs ?? []), ...event.logprobs] }),
      };
    case "pieces":
      return {
        ...joined,
        pieces: event.pieces.reduce(addPiece, joined.pieces ?? []),
        tokens: (joined.tokens ?? 0) + event.counts.reduce((sum, count) => sum + count, 0),
      };
    case "text":
      return { ...joined, text: (joined.text ?? "") + event.text };
    case "finish":
      return { ...joined, finish: event };
    default:
      return event satisfies never;
  }
}

function addPiece(pieces: readonly EnginePiece[], piece: EnginePiece): readonly EnginePiece[] {
  const last = pieces.at(-1);
  return last !== undefined && "text" in last && "text" in piece
    ? [...pieces.slice(0, -1), { text: last.text + piece.text }]
    : [...pieces, piece];
}

/** The sampled output, control tokens by name. */
export function textOf({ ids, pieces, text = "" }: Collected): string {
  if (ids !== undefined) return o200kHarmony().decode(ids);
  if (pieces === undefined) return text;
  return pieces
    .map((piece) => ("text" in piece ? piece.text : o200kHarmony().decode([piece.special])))
    .join("");
}

/**
 * The stream split in two at every byte, and byte by byte.
 *
 * A long stream repeats events of one layout. Splitting it at every 17th byte splits 17 consecutive events at every
 * offset, unless their length is a multiple of 17. Its first and last events, characters outside ASCII and escapes are
 * split at every byte all the same.
 */
export function* cuts(bytes: Uint8Array): Generator<readonly Uint8Array[]> {
  for (let at = 1; at < bytes.length; at += 1) {
    if (bytes.length < 2000 || at % 17 === 0 || isUnusual(bytes, at)) {
      yield [bytes.subarray(0, at), bytes.subarray(at)];
    }
  }
  yield Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
}

function isUnusual(bytes: Uint8Array, at: number): boolean {
  const [before = 0, after = 0] = bytes.subarray(at - 1, at + 1);
  const BACKSLASH = 0x5c;
  return (
    at < 250 || at > bytes.length - 250 || before >= 0x80 || after >= 0x80 || before === BACKSLASH
  );
}

/** Bodies are compared as values: the order of keys in a request means nothing. */
export function bodyOf(request: TransportRequest | undefined): unknown {
  return JSON.parse(requestText(request?.body ?? "null"));
}

/** The answer in the fixtures `logprobs` of several engines, with two alternatives for each token. */
export const ANSWER_WITH_LOGPROBS = {
  ids: [200005, 17196, 200008, 12194, 200002],
  logprobs: [
    {
      id: 200005,
      logprob: -0.25,
      top: [
        { id: 200005, logprob: -0.25 },
        { id: 200003, logprob: -3.5 },
      ],
    },
    {
      id: 17196,
      logprob: -1.5,
      top: [
        { id: 35644, logprob: -0.5 },
        { id: 17196, logprob: -1.5 },
      ],
    },
    {
      id: 200008,
      logprob: 0,
      top: [
        { id: 200008, logprob: 0 },
        { id: 200003, logprob: -9999 },
      ],
    },
    {
      id: 12194,
      logprob: -0.125,
      top: [
        { id: 12194, logprob: -0.125 },
        { id: 13225, logprob: -2.25 },
      ],
    },
    {
      id: 200002,
      logprob: -0.0625,
      top: [
        { id: 200002, logprob: -0.0625 },
        { id: 0, logprob: -4 },
      ],
    },
  ],
};
