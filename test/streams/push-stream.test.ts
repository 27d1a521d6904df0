import { describe, expect, test } from "vitest";
import {
  andThen,
  createPushStream,
  type PushStream,
  consume,
  SerialQueue,
  guard,
  mapPushStream,
  type Demand,
  deliverAll,
} from "../../src/streams/push-stream.ts";

/** Gives these, and remembers how far it came and that it let go. */
function counted(events: readonly number[]) {
  const made: (number | "let go")[] = [];
  const flow = createPushStream<number>(async (take) => {
    try {
      for (const event of events) {
        made.push(event);
        if (!(await take(event))) return;
      }
    } finally {
      made.push("let go");
    }
  });
  return { flow, made };
}

function failing(after: readonly number[]): PushStream<number> {
  return createPushStream(async (take) => {
    for (const event of after) await take(event);
    throw new Error("broken");
  });
}

async function* plain(): AsyncGenerator<number> {
  yield* [1, 2, 3];
}

describe("forEachOf", () => {
  test.each<[string, () => AsyncIterable<number>]>([
    ["a flow", () => counted([1, 2, 3]).flow],
    ["any async iterable", plain],
  ])("reads %s to the end", async (_, events) => {
    const taken: number[] = [];
    await consume(events(), (event) => taken.push(event) > 0);
    expect(taken).toEqual([1, 2, 3]);
  });

  test.each<[string, (taken: number[]) => (event: number) => Demand]>([
    ["at once", (taken) => (event) => taken.push(event) < 2],
    ["later", (taken) => async (event) => taken.push(event) < 2],
  ])("ends when no more are wanted, said %s", async (_, take) => {
    for (const events of [counted([1, 2, 3]).flow, plain()]) {
      const taken: number[] = [];
      await consume(events, take(taken));
      expect(taken).toEqual([1, 2]);
    }
  });

  test("rejects with what the events fail with, after the events", async () => {
    const taken: number[] = [];
    await expect(consume(failing([1]), (event) => taken.push(event) > 0)).rejects.toThrow("broken");
    expect(taken).toEqual([1]);
  });
});

describe("a flow read step by step", () => {
  test("gives all events, then the end, and again the end", async () => {
    const pulled = counted([1, 2]).flow[Symbol.asyncIterator]();
    const results = [];
    for (let i = 0; i < 4; i++) results.push(await pulled.next());
    expect(results).toEqual([
      { done: false, value: 1 },
      { done: false, value: 2 },
      { done: true, value: undefined },
      { done: true, value: undefined },
    ]);
  });

  test("begins with the first step and makes nothing ahead", async () => {
    const { flow, made } = counted([1, 2, 3]);
    const pulled = flow[Symbol.asyncIterator]();
    await Promise.resolve();
    expect(made).toEqual([]);
    await pulled.next();
    await new Promise((resolve) => setTimeout(resolve));
    expect(made).toEqual([1]);
  });

  test("lets go before leaving is over", async () => {
    const { flow, made } = counted([1, 2, 3]);
    for await (const event of flow) if (event === 2) break;
    expect(made).toEqual([1, 2, "let go"]);
  });

  test("never begins for a reader who leaves at once", async () => {
    const { flow, made } = counted([1]);
    const pulled = flow[Symbol.asyncIterator]();
    expect(await pulled.return()).toEqual({ done: true, value: undefined });
    expect(await pulled.next()).toEqual({ done: true, value: undefined });
    expect(made).toEqual([]);
  });

  test("throws a failure once, in its place", async () => {
    const pulled = failing([1])[Symbol.asyncIterator]();
    expect(await pulled.next()).toEqual({ done: false, value: 1 });
    await expect(pulled.next()).rejects.toThrow("broken");
    expect(await pulled.next()).toEqual({ done: true, value: undefined });
  });

  test("a failure between two steps waits for the second", async () => {
    const pulled = createPushStream<number>(async (take) => {
      void take(1);
      throw new Error("broken");
    })[Symbol.asyncIterator]();
    await pulled.next();
    await new Promise((resolve) => setTimeout(resolve));
    await expect(pulled.next()).rejects.toThrow("broken");
  });

  test("refuses a second step before the first is made", async () => {
    const pulled = createPushStream<number>(() => new Promise(() => {}))[Symbol.asyncIterator]();
    void pulled.next();
    await expect(pulled.next()).rejects.toThrow("one event at a time");
  });
});

test("mapped events come in order, whether they are mapped at once or later", async () => {
  const mapped = mapPushStream(counted([1, 2, 3]).flow, (event) =>
    event === 2 ? Promise.resolve("later 2") : `${event}`,
  );
  expect(await Array.fromAsync(mapped)).toEqual(["1", "later 2", "3"]);
});

test("what a taker throws is not the failure of who makes the events", async () => {
  for (const fail of [
    () => {
      throw new Error("mine");
    },
    () => Promise.reject(new Error("mine")),
  ]) {
    const { flow, made } = counted([1, 2]);
    const guarded = guard<number>(fail);
    await flow.pushTo(guarded.take);
    expect(made).toEqual([1, "let go"]);
    expect(() => guarded.check()).toThrow("mine");
  }
});

describe("takeAll", () => {
  test("waits for room in the middle, and goes on in order", async () => {
    const room = Promise.withResolvers<boolean>();
    const taken: number[] = [];
    const more = deliverAll([1, 2, 3], (event) => {
      taken.push(event);
      return event === 1 ? room.promise : true;
    });
    expect(taken).toEqual([1]);
    room.resolve(true);
    expect(await more).toBe(true);
    expect(taken).toEqual([1, 2, 3]);
  });

  test.each<[string, (event: number) => Demand]>([
    ["at once", (event) => event !== 2],
    ["later", async (event) => event !== 2],
  ])("hands over nothing after a no, said %s", async (_, answer) => {
    const taken: number[] = [];
    const more = deliverAll([1, 2, 3], (event) => {
      taken.push(event);
      return answer(event);
    });
    expect(await more).toBe(false);
    expect(taken).toEqual([1, 2]);
  });
});

test.each<[Demand, boolean, number]>([
  [true, true, 1],
  [false, false, 0],
  [Promise.resolve(true), true, 1],
  [Promise.resolve(false), false, 0],
])("andThen goes on only where more is wanted: %s", async (more, expected, calls) => {
  let called = 0;
  const result = andThen(more, () => ++called > 0);
  expect(await result).toBe(expected);
  expect(called).toBe(calls);
});

describe("a gate", () => {
  test("is a call while there is room", () => {
    const gate = new SerialQueue();
    expect(gate.pass(() => true)).toBe(true);
    expect(gate.more).toBe(true);
  });

  test("keeps the order of what comes while there is none, and is a call again later", async () => {
    const gate = new SerialQueue();
    const room = Promise.withResolvers<boolean>();
    const passed: number[] = [];
    const pass = (event: number, more: Demand) =>
      gate.pass(() => {
        passed.push(event);
        return more;
      });
    const first = pass(1, room.promise);
    const second = pass(2, true);
    expect(passed).toEqual([1]);
    room.resolve(true);
    expect([await first, await second]).toEqual([true, true]);
    expect(passed).toEqual([1, 2]);
    expect(pass(3, true)).toBe(true);
    expect(passed).toEqual([1, 2, 3]);
  });

  test.each<[string, (gate: SerialQueue) => unknown]>([
    ["a no", (gate) => gate.pass(() => false)],
    ["a later no", (gate) => gate.pass(async () => false)],
    ["it was closed", (gate) => gate.close()],
  ])("lets nothing through after %s", async (_, shut) => {
    const gate = new SerialQueue();
    await shut(gate);
    let passed = false;
    expect(await gate.pass(() => (passed = true))).toBe(false);
    expect(passed).toBe(false);
  });

  test("tells a failure to whoever comes after it too", async () => {
    const gate = new SerialQueue();
    await expect(gate.pass(() => Promise.reject(new Error("full")))).rejects.toThrow("full");
    await expect(gate.pass(() => true)).rejects.toThrow("full");
  });
});
