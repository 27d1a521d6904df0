/** The load generator, in a separate process: it opens streams and reports the results on request. */
import { setTimeout as pause } from "node:timers/promises";
import { Stream, type StreamEvents, type StreamOptions } from "./stream.ts";
import { ageMs, nowMs } from "./words.ts";
import type { ClientRequest } from "./requests.ts";
import { type Percentiles, toPercentiles } from "../statistics.ts";
import { Alternation } from "./alternation.ts";

export type LoadCommand =
  /** Opens streams that send requests in a loop, until `stop`. */
  | {
      readonly do: "start";
      readonly stream: StreamOptions;
      readonly streams: number;
      /**
       * Opens this many each 10 ms, waits while {@link MAX_UNANSWERED} have got nothing, and in the end until each has got
       * something. Default: all at once, without waiting.
       */
      readonly ramp?: number;
      /** Their bytes are counted together. */
      readonly group?: string;
    }
  /** Reports the bytes of each group since its streams were opened. */
  | { readonly do: "count" }
  /** Resets the counters. */
  | { readonly do: "mark" }
  /** Reports the counters. */
  | { readonly do: "read" }
  | { readonly do: "stop" }
  /** Sends requests one after the other on one connection, and reports each duration. */
  | {
      readonly do: "ask";
      readonly stream: StreamOptions;
      readonly requests: readonly ClientRequest[];
    }
  /** Connects to several targets, `clients` times to each, for `alternate`. Until `stop`. */
  | {
      readonly do: "connect";
      readonly targets: readonly StreamOptions[];
      readonly clients: number;
    }
  /** Sends requests to these targets in turn for a time, and reports the durations for each. */
  | { readonly do: "alternate"; readonly ms: number }
  /** Sends requests to these targets in turn until each has answered a number. */
  | { readonly do: "warm-up"; readonly requests: number };

export interface LoadCounts {
  readonly ms: number;
  readonly answers: number;
  readonly bytes: number;
  readonly words: number;
  /** From the engine's write to the client's read. */
  readonly latencyMs: Percentiles;
  /** Between two reads of a stream that contained words. */
  readonly gapMs: Percentiles;
}

export interface AskedTimes {
  /** To the first visible text. */
  readonly firstMs: Percentiles;
  /** To the end of the answer. */
  readonly wholeMs: Percentiles;
}

const MAX_SAMPLES = 2_000_000;
/**
 * Fewer than the 511 connections that wait to be accepted by a contender with Node's defaults. On a busy machine, those
 * beyond are reset after a minute.
 */
const MAX_UNANSWERED = 400;

let streams: Stream[] = [];
const groups = new Map<string, Stream[]>();
let alternation: Alternation | undefined;
let failure: string | undefined;
let since = nowMs();
let answers = 0;
let words = 0;
let bytesBefore = 0;
let latencies: number[] = [];
let gaps: number[] = [];

process.on("message", (command: LoadCommand) => {
  void obey(command).then(
    (result) => process.send?.(failure === undefined ? { result } : { failure }),
    (error: unknown) => process.send?.({ failure: String(error) }),
  );
});
process.on("disconnect", () => process.exit());
process.send?.("ready");

async function obey(command: LoadCommand): Promise<unknown> {
  switch (command.do) {
    case "start":
      return start(command);
    case "mark":
      return mark();
    case "read":
      return read();
    case "stop":
      for (const stream of streams) stream.leave();
      streams = [];
      groups.clear();
      alternation?.leave();
      alternation = undefined;
      return true;
    case "count":
      return Object.fromEntries([...groups].map(([name, group]) => [name, bytesOf(group)]));
    case "connect":
      failure = undefined;
      alternation = new Alternation(command.targets, command.clients);
      return true;
    case "alternate":
      return alternation?.run(command.ms);
    case "warm-up":
      await alternation?.warmUp(command.requests);
      return true;
    case "ask":
      return ask(command);
    default:
      return command satisfies never;
  }
}

async function start(command: Extract<LoadCommand, { do: "start" }>): Promise<true> {
  failure = undefined;
  const { request } = command.stream;
  const group = groups.get(command.group ?? "") ?? [];
  groups.set(command.group ?? "", group);
  const events: StreamEvents = {
    onWords: count,
    onEnd(stream) {
      answers++;
      stream.ask(request);
    },
    onFailure: (reason) => (failure ??= reason),
  };
  for (let opened = 0; opened < command.streams; opened++) {
    const stream = new Stream(command.stream, events);
    streams.push(stream);
    group.push(stream);
    stream.ask(request);
    if (opened % (command.ramp ?? Infinity) === 0) {
      await pause(10);
      if (command.ramp !== undefined) await untilAnswered(group, MAX_UNANSWERED);
    }
  }
  if (command.ramp !== undefined) await untilAnswered(group, 1);
  return mark();
}

/** Until fewer than `most` streams have got nothing. */
async function untilAnswered(group: readonly Stream[], most: number): Promise<void> {
  for (;;) {
    const unanswered = group.filter(({ bytes }) => bytes === 0).length;
    if (unanswered < most || failure !== undefined) return;
    await pause(10);
  }
}

function count(received: readonly string[], receivedMs: number, stream: Stream): void {
  words += received.length;
  if (latencies.length >= MAX_SAMPLES) return;
  for (const word of received) {
    const age = ageMs(word, receivedMs);
    if (age !== undefined) latencies.push(age);
  }
  if (stream.wordsMs > 0) gaps.push(receivedMs - stream.wordsMs);
}

function mark(): true {
  since = nowMs();
  answers = 0;
  words = 0;
  latencies = [];
  gaps = [];
  bytesBefore = bytesOf(streams);
  return true;
}

function read(): LoadCounts {
  return {
    ms: nowMs() - since,
    answers,
    bytes: bytesOf(streams) - bytesBefore,
    words,
    latencyMs: toPercentiles(latencies),
    gapMs: toPercentiles(gaps),
  };
}

function bytesOf(some: readonly Stream[]): number {
  return some.reduce((sum, stream) => sum + stream.bytes, 0);
}

async function ask(command: Extract<LoadCommand, { do: "ask" }>): Promise<AskedTimes> {
  failure = undefined;
  const firstMs: number[] = [];
  const wholeMs: number[] = [];
  let resolve: () => void = () => {};
  let sawWords = false;
  const stream = new Stream(command.stream, {
    onWords(_words, receivedMs, { askedMs }) {
      if (!sawWords) firstMs.push(receivedMs - askedMs);
      sawWords = true;
    },
    onEnd({ askedMs }) {
      wholeMs.push(nowMs() - askedMs);
      resolve();
    },
    onFailure(reason) {
      failure = reason;
      resolve();
    },
  });
  for (const request of command.requests) {
    const ended = new Promise<void>((settle) => (resolve = settle));
    sawWords = false;
    stream.ask(request);
    await ended;
    if (failure !== undefined) break;
  }
  stream.leave();
  return { firstMs: toPercentiles(firstMs), wholeMs: toPercentiles(wholeMs) };
}
