import { describe, expect, test } from "vitest";

import { type CompletionReader, CompletionDecoder } from "../../src/engines/completion-decoder.ts";
import { EngineError, type EngineEvent } from "../../src/index.ts";
import { createSseSplitter } from "../../src/engines/sse.ts";
import { decodeRead } from "./support.ts";

type EngineFinish = Extract<EngineEvent, { type: "finish" }>;

const FINISH: EngineFinish = { type: "finish", reason: "stop", nativeReason: "end" };

/** An event is an id, `end`, `quiet` (nothing), `refuse` (an error of the server) or malformed. */
function createIdReader(endsStream: boolean): CompletionReader {
  let ids: number[] = [];
  let finish: EngineFinish | undefined;
  return {
    push(event) {
      if (event === "refuse") throw new EngineError("overloaded", "busy");
      if (event === "end") finish = FINISH;
      else if (event !== "quiet") ids.push(readId(event));
    },
    drain() {
      if (ids.length === 0) return undefined;
      const tokens = { type: "ids", ids } as const;
      ids = [];
      return tokens;
    },
    finish: () => finish,
    isDone: () => endsStream && finish !== undefined,
  };
}

function readId(event: string): number {
  const id = Number(event);
  if (Number.isNaN(id)) throw new Error("not an id");
  return id;
}

/** The events of one read of this text. */
function eventsIn(decoder: CompletionDecoder, text: string): EngineEvent[] {
  return decodeRead(decoder, new TextEncoder().encode(text));
}

function createDecoder({ openAtFirstEvent = false, endsStream = false } = {}) {
  const decoder = new CompletionDecoder({
    serverName: "vllm at http://a",
    reader: createIdReader(endsStream),
    splitter: createSseSplitter(),
    openAtFirstEvent,
  });
  const push = (...events: string[]) =>
    eventsIn(decoder, events.map((event) => `data: ${event}\n\n`).join(""));
  return { decoder, push };
}

test("all tokens of a read are one event", () => {
  const { decoder, push } = createDecoder();
  expect(push("1", "2", "3")).toEqual([{ type: "ids", ids: [1, 2, 3] }]);
  expect(push("4")).toEqual([{ type: "ids", ids: [4] }]);
  expect(push("quiet")).toEqual([]);
  expect([decoder.hasEnded(), decoder.failure(), decoder.finish()]).toEqual([
    false,
    undefined,
    undefined,
  ]);
});

test("an event split between two reads is returned with the second", () => {
  const { decoder } = createDecoder();
  expect(eventsIn(decoder, "data: 1")).toEqual([]);
  expect(eventsIn(decoder, "2\n\n")).toEqual([{ type: "ids", ids: [12] }]);
});

describe("the end", () => {
  test("is [DONE], with the tokens before it", () => {
    const { decoder, push } = createDecoder();
    expect(push("1", "end", "[DONE]")).toEqual([{ type: "ids", ids: [1] }]);
    expect([decoder.hasEnded(), decoder.finish()]).toEqual([true, FINISH]);
  });

  test("is not the finish, after which the usage may come", () => {
    const { decoder, push } = createDecoder();
    push("end");
    expect([decoder.hasEnded(), decoder.finish()]).toEqual([false, FINISH]);
  });

  test("is the finish if the reader says so", () => {
    const { decoder, push } = createDecoder({ endsStream: true });
    push("end");
    expect(decoder.hasEnded()).toBe(true);
  });
});

describe("a failure", () => {
  test("of the server ends the stream, after the tokens before it in the same read", () => {
    const { decoder, push } = createDecoder();
    expect(push("1", "refuse", "2")).toEqual([{ type: "ids", ids: [1] }]);
    expect(decoder.hasEnded()).toBe(true);
    expect(decoder.failure()).toMatchObject({ kind: "overloaded", message: "busy" });
  });

  test("to read an event is the server's error and names it", () => {
    const { decoder, push } = createDecoder();
    expect(push("nonsense")).toEqual([]);
    expect(decoder.failure()).toMatchObject({
      kind: "server-error",
      message: "vllm at http://a sent an invalid response: not an id.",
    });
  });
});

describe("open at the first event", () => {
  test("comes once, before its tokens", () => {
    const { push } = createDecoder({ openAtFirstEvent: true });
    expect(push("1")).toEqual([{ type: "open" }, { type: "ids", ids: [1] }]);
    expect(push("2")).toEqual([{ type: "ids", ids: [2] }]);
  });

  test("comes with an event without tokens, and not without an event", () => {
    const { decoder, push } = createDecoder({ openAtFirstEvent: true });
    expect(eventsIn(decoder, ": ping\n\n")).toEqual([]);
    expect(push("quiet")).toEqual([{ type: "open" }]);
  });

  test("does not come with an error", () => {
    const { push } = createDecoder({ openAtFirstEvent: true });
    expect(push("refuse")).toEqual([]);
  });
});

test("more text in one read than any answer has is a failure of the server", () => {
  const decoder = new CompletionDecoder({
    serverName: "vllm at http://a",
    reader: {
      push: () => undefined,
      drain: () => ({ type: "text", text: "x".repeat(524_289) }),
      finish: () => undefined,
      isDone: () => false,
    },
    splitter: createSseSplitter(),
    openAtFirstEvent: false,
  });
  expect(eventsIn(decoder, "data: 1\n\n")).toEqual([]);
  expect(decoder.failure()).toMatchObject({
    kind: "server-error",
    message:
      "vllm at http://a sent an invalid response: more than 524288 characters of text at once.",
  });
});
