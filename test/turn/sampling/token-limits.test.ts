/** A completion's limits, on tokens of every form: the waits by a manual clock, the numbers by scripted engines. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";

import { type Engine, EngineError, type EngineEvent } from "../../../src/index.ts";
import type { EngineTokens, EngineUsage } from "../../../src/engines/engine.ts";
import { consume, type Consumer, createPushStream } from "../../../src/streams/push-stream.ts";
import { o200kHarmony } from "../../../src/tokenizer/index.ts";
import { limitTokens } from "../../../src/turn/sampling/token-limits.ts";
import { createFakeClock, createScriptedEngine, FINISH, OPEN } from "../../engines/pool/support.ts";
import { requestOf } from "../../engines/support.ts";

const TOKEN: EngineTokens = { type: "ids", ids: [1] };
const LIMITS = { firstTokenMs: 5_000, idleMs: 2_000 };
const CUT: EngineEvent = { type: "finish", reason: "length", nativeReason: null };

/** An engine whose events the test gives, and which is deaf to its signal. */
function openEngine() {
  const clock = createFakeClock();
  let signal: AbortSignal | undefined;
  const given = Promise.withResolvers<Consumer<EngineEvent>>();
  const { capabilities } = createScriptedEngine();
  const inner: Engine = {
    name: "open",
    capabilities,
    probe: () => Promise.reject(new Error("not asked")),
    complete: (_, until) => {
      signal = until;
      return createPushStream((consumer) => {
        given.resolve(consumer);
        return new Promise<void>(() => {});
      });
    },
  };
  const events: EngineEvent[] = [];
  const abort = new AbortController();
  let accept: (event: EngineEvent) => boolean | Promise<boolean> = () => true;
  const ended = consume(
    limitTokens(inner, LIMITS, clock).complete(requestOf({ maxTokens: 100 }), abort.signal),
    (event) => {
      events.push(event);
      return accept(event);
    },
  );
  const failure = ended.then(
    () => undefined,
    (error: unknown) => error,
  );
  /** Time passes in the steps of the checks. */
  const wait = (ms: number): void => {
    for (let passed = 0; passed < ms; passed += 100) clock.advance(100);
  };
  return {
    clock,
    events,
    abort,
    failure,
    wait,
    give: async (event: EngineEvent) => (await given.promise)(event),
    isAborted: () => signal?.aborted === true,
    onEvent: (next: typeof accept) => {
      accept = next;
    },
  };
}

describe("the first token", () => {
  test("not given in time, ends the completion, however alive the engine looks", async () => {
    const { give, wait, failure, isAborted, clock } = openEngine();
    await give(OPEN);
    await give({ type: "ids", ids: [] });
    wait(4_900);
    expect(isAborted()).toBe(false);
    wait(700);
    expect(isAborted()).toBe(true);
    expect(await failure).toEqual(
      new EngineError(
        "timeout",
        "open gave no token within 5000 ms. It may be overloaded or hung.",
      ),
    );
    expect(clock.timers).toBe(0);
  });

  test("given in time, begins the wait for the next one", async () => {
    const { give, wait, isAborted } = openEngine();
    wait(4_000);
    await give(TOKEN);
    wait(1_900);
    expect(isAborted()).toBe(false);
    await give(TOKEN);
    wait(1_900);
    expect(isAborted()).toBe(false);
  });
});

describe("progress with the prompt", () => {
  const progress = (processed: number): EngineEvent => ({
    type: "progress",
    total: 48_000,
    cached: 0,
    processed,
    elapsedMs: 0,
  });

  test("begins the wait for the first token again, as often as it is made", async () => {
    const { give, wait, isAborted, events } = openEngine();
    await give(OPEN);
    for (const processed of [2048, 4096, 6144]) {
      wait(4_900);
      await give(progress(processed));
    }
    wait(4_900);
    expect(isAborted()).toBe(false);
    await give(TOKEN);
    wait(1_900);
    expect(isAborted()).toBe(false);
    expect(events).toEqual([OPEN, progress(2048), progress(4096), progress(6144), TOKEN]);
  });

  test("that is reported again is none, nor is one that falls back", async () => {
    const { give, wait, failure, isAborted } = openEngine();
    await give(progress(2048));
    wait(2_000);
    for (const processed of [2048, 1024, 2048]) {
      await give(progress(processed));
      wait(1_000);
    }
    expect(isAborted()).toBe(false);
    wait(700);
    expect(isAborted()).toBe(true);
    expect(await failure).toMatchObject({ kind: "timeout" });
  });

  test("after the first token does not count", async () => {
    const { give, wait, isAborted } = openEngine();
    await give(TOKEN);
    wait(1_000);
    await give(progress(2048));
    wait(1_700);
    expect(isAborted()).toBe(true);
  });
});

describe("a further token", () => {
  test.each<[string, EngineEvent[]]>([
    ["nothing", []],
    [
      "reads without tokens",
      [
        { type: "ids", ids: [] },
        { type: "text", text: "" },
      ],
    ],
  ])("not given in time, ends the completion: the engine sent %s", async (_, pings) => {
    const { give, wait, failure, isAborted } = openEngine();
    await give(TOKEN);
    for (let passed = 0; passed < 4_000; passed += 500) {
      wait(500);
      for (const each of pings) await give(each);
    }
    expect(isAborted()).toBe(true);
    expect(await failure).toEqual(
      new EngineError("timeout", "open gave no further token within 2000 ms."),
    );
    // The engine is deaf, and still gives.
    expect(await give(TOKEN)).toBe(false);
  });

  test("is not waited for while the consumer has no room", async () => {
    const { give, wait, isAborted, onEvent } = openEngine();
    const room = Promise.withResolvers<boolean>();
    onEvent(() => room.promise);
    const demand = give(TOKEN);
    await nextTurn();
    wait(60_000);
    expect(isAborted()).toBe(false);
    room.resolve(true);
    expect(await demand).toBe(true);
    wait(1_900);
    expect(isAborted()).toBe(false);
    wait(600);
    expect(isAborted()).toBe(true);
  });

  test("that arrived while the event loop was blocked is read first", async () => {
    const { clock, give, wait, isAborted } = openEngine();
    await give(TOKEN);
    wait(1_900);
    // The last look is late; the token lies in the socket.
    clock.advance(60_000);
    await give(TOKEN);
    clock.advance(0);
    expect(isAborted()).toBe(false);
  });
});

test("a completion whose client leaves ends at once, though the engine is deaf to its signal", async () => {
  const { give, abort, failure, isAborted, clock } = openEngine();
  await give(TOKEN);
  abort.abort(new Error("left"));
  expect(await failure).toEqual(new Error("left"));
  expect(isAborted()).toBe(true);
  expect(clock.timers).toBe(0);
  expect(await give(TOKEN)).toBe(false);
});

test("a complete answer passes as it is, and leaves no timer", async () => {
  const clock = createFakeClock();
  const steps = [OPEN, TOKEN, finishOf({ promptTokens: 3, completionTokens: 1 })];
  const engine = limitTokens(createScriptedEngine(steps), LIMITS, clock);
  expect(await collect(engine, 1)).toEqual(steps);
  expect(clock.timers).toBe(0);
});

test("a count of more tokens than were requested is dropped", async () => {
  const usage = { promptTokens: 3, cachedTokens: 2, completionTokens: 400 };
  const engine = limitTokens(createScriptedEngine([TOKEN, finishOf(usage)]));
  expect(await collect(engine, 50)).toEqual([
    TOKEN,
    finishOf({ promptTokens: 3, cachedTokens: 2 }),
  ]);
});

describe("S8: an engine that ignores its limit is cut there", () => {
  const many = Array.from({ length: 400 }, () => TOKEN);

  test("one id at a time", async () => {
    const engine = limitTokens(createScriptedEngine([OPEN, ...many, FINISH]));
    expect(await collect(engine, 50)).toEqual([OPEN, ...many.slice(0, 50), CUT]);
  });

  test("all ids in one read, with their log probabilities", async () => {
    const logprobs = many.map((_, id) => ({ id, logprob: -1, top: [] }));
    const ids = many.map((_, id) => id);
    const engine = limitTokens(createScriptedEngine([{ type: "ids", ids, logprobs }, FINISH]));
    expect(await collect(engine, 50)).toEqual([
      { type: "ids", ids: ids.slice(0, 50), logprobs: logprobs.slice(0, 50) },
      CUT,
    ]);
  });

  test("pieces, by their counts", async () => {
    const piece: EngineTokens = {
      type: "pieces",
      pieces: [{ text: "a" }, { text: "b" }],
      counts: [1, 2],
    };
    const engine = limitTokens(createScriptedEngine([piece, piece, FINISH]));
    expect(await collect(engine, 5)).toEqual([
      piece,
      { type: "pieces", pieces: [{ text: "a" }], counts: [1] },
      CUT,
    ]);
  });

  test.each<[string, number]>([
    ["zero", 0],
    ["negative", -5],
    ["no number", NaN],
  ])("pieces whose counts are %s count as one token each", async (_, count) => {
    const piece: EngineTokens = { type: "pieces", pieces: [{ text: "a" }], counts: [count] };
    const engine = limitTokens(createScriptedEngine([piece, piece, piece, FINISH]));
    expect(await collect(engine, 2)).toEqual([piece, piece, CUT]);
  });

  test("a piece that no tokens of its count can be", async () => {
    const piece: EngineTokens = {
      type: "pieces",
      pieces: [{ text: "a".repeat(129) }],
      counts: [1],
    };
    expect(await collect(limitTokens(createScriptedEngine([piece, FINISH])), 1)).toEqual([CUT]);
  });

  test("text in one read, at exactly so many tokens", async () => {
    const text = "The quick brown fox jumps over the lazy dog. ".repeat(40);
    const engine = limitTokens(createScriptedEngine([{ type: "text", text }, FINISH]));
    const [cut, finish] = await collect(engine, 50);
    expect(finish).toEqual(CUT);
    if (cut?.type !== "text") throw new Error("no text");
    expect(text.startsWith(cut.text)).toBe(true);
    expect(o200kHarmony().encode(cut.text)).toHaveLength(50);
  });

  test("text word by word, within some words", async () => {
    const words = Array.from({ length: 400 }, (): EngineTokens => ({
      type: "text",
      text: " word",
    }));
    const engine = limitTokens(createScriptedEngine([...words, FINISH]));
    const events = await collect(engine, 50);
    expect(events.at(-1)).toEqual(CUT);
    expect(events.length).toBeLessThanOrEqual(60);
  });

  test("text in the middle of a character without its first bytes", async () => {
    // Three tokens each.
    const text = "\u{1FAE8}".repeat(20);
    const engine = limitTokens(createScriptedEngine([{ type: "text", text }, FINISH]));
    expect(await collect(engine, 4)).toEqual([{ type: "text", text: text.slice(0, 2) }, CUT]);
  });

  test("text with counts, by its share of them", async () => {
    const read: EngineTokens = { type: "text", text: "abcdefghij", tokens: 10 };
    const engine = limitTokens(createScriptedEngine([read, read, FINISH]));
    expect(await collect(engine, 15)).toEqual([
      read,
      { type: "text", text: "abcde", tokens: 5 },
      CUT,
    ]);
  });

  test("an endless answer, and the engine is aborted", async () => {
    let given = 0;
    let isReleased = false;
    const endless: Engine = {
      ...createScriptedEngine(),
      async *complete() {
        try {
          for (;;) {
            given += 1;
            yield TOKEN;
          }
        } finally {
          isReleased = true;
        }
      },
    };
    expect(await collect(limitTokens(endless), 1000)).toHaveLength(1001);
    expect([given, isReleased]).toEqual([1001, true]);
  });
});

test.each<[string, string]>([
  ["prose", "A server stops by itself, at its own count of tokens. Nothing is cut. "],
  ["code", "for (let i = 0; i < n; i++) {\n\treturn items[i]?.name ?? 'none';\n}\n"],
  ["markers", "<|channel|>analysis<|message|>So.<|end|><|start|>assistant<|channel|>final"],
  ["Chinese", "服务器自己停下来，按照它自己的计数。什么也没有被切断。"],
  ["white space", " \n\t  \n\n    \t "],
])("an engine that keeps its limit is not cut, whatever the reads: %s", async (_, part) => {
  const text = part.repeat(6);
  const sampled = countSampled(text);
  for (const size of [1, 3, 7, text.length]) {
    const reads: EngineTokens[] = [];
    for (let at = 0; at < text.length; at += size) {
      reads.push({ type: "text", text: text.slice(at, at + size) });
    }
    const engine = limitTokens(createScriptedEngine([...reads, FINISH]));
    expect(await collect(engine, sampled)).toEqual([...reads, FINISH]);
  }
});

function finishOf(usage: EngineUsage): EngineEvent {
  return { type: "finish", reason: "stop", nativeReason: "stop", usage };
}

/** Tokens of a text in which markers are spelled, as the model sampled them. */
function countSampled(text: string): number {
  const parts = text.split(/<\|[a-z]+\|>/);
  const encoder = o200kHarmony();
  return parts.reduce((sum, part) => sum + encoder.encode(part).length, parts.length - 1);
}

async function collect(engine: Engine, maxTokens: number): Promise<EngineEvent[]> {
  const events: EngineEvent[] = [];
  const { signal } = new AbortController();
  for await (const event of engine.complete(requestOf({ maxTokens }), signal)) events.push(event);
  return events;
}
