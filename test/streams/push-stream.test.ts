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

/** A stream of these events that records its progress and its end. */
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

describe("consume", () => {
  test.each<[string, () => AsyncIterable<number>]>([
    ["a push stream", () => counted([1, 2, 3]).flow],
    ["any async iterable", plain],
  ])("reads %s to the end", async (_, events) => {
    const taken: number[] = [];
    await consume(events(), (event) => taken.push(event) > 0);
    expect(taken).toEqual([1, 2, 3]);
  });

  test.each<[string, (taken: number[]) => (event: number) => Demand]>([
    ["synchronously", (taken) => (event) => taken.push(event) < 2],
    ["asynchronously", (taken) => async (event) => taken.push(event) < 2],
  ])("stops when the consumer wants no more, decided %s", async (_, take) => {
    for (const events of [counted([1, 2, 3]).flow, plain()]) {
      const taken: number[] = [];
      await consume(events, take(taken));
      expect(taken).toEqual([1, 2]);
    }
  });

  test("rejects with the producer's error after the events before it", async () => {
    const taken: number[] = [];
    await expect(consume(failing([1]), (event) => taken.push(event) > 0)).rejects.toThrow("broken");
    expect(taken).toEqual([1]);
  });
});

describe("reading a push stream as an async iterable", () => {
  test("yields all events, then stays done", async () => {
    const iterator = counted([1, 2]).flow[Symbol.asyncIterator]();
    const results = [];
    for (let i = 0; i < 4; i++) results.push(await iterator.next());
    expect(results).toEqual([
      { done: false, value: 1 },
      { done: false, value: 2 },
      { done: true, value: undefined },
      { done: true, value: undefined },
    ]);
  });

  test("starts with the first next() and produces nothing ahead", async () => {
    const { flow, made } = counted([1, 2, 3]);
    const iterator = flow[Symbol.asyncIterator]();
    await Promise.resolve();
    expect(made).toEqual([]);
    await iterator.next();
    await new Promise((resolve) => setTimeout(resolve));
    expect(made).toEqual([1]);
  });

  test("releases resources before return() resolves", async () => {
    const { flow, made } = counted([1, 2, 3]);
    for await (const event of flow) if (event === 2) break;
    expect(made).toEqual([1, 2, "let go"]);
  });

  test("never starts when closed before the first next()", async () => {
    const { flow, made } = counted([1]);
    const iterator = flow[Symbol.asyncIterator]();
    expect(await iterator.return()).toEqual({ done: true, value: undefined });
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
    expect(made).toEqual([]);
  });

  test("throws a failure once, after the events before it", async () => {
    const iterator = failing([1])[Symbol.asyncIterator]();
    expect(await iterator.next()).toEqual({ done: false, value: 1 });
    await expect(iterator.next()).rejects.toThrow("broken");
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  test("a failure between two calls of next() is thrown by the second", async () => {
    const iterator = createPushStream<number>(async (take) => {
      void take(1);
      throw new Error("broken");
    })[Symbol.asyncIterator]();
    await iterator.next();
    await new Promise((resolve) => setTimeout(resolve));
    await expect(iterator.next()).rejects.toThrow("broken");
  });

  test("refuses a second next() before the first has settled", async () => {
    const iterator = createPushStream<number>(() => new Promise(() => {}))[Symbol.asyncIterator]();
    void iterator.next();
    await expect(iterator.next()).rejects.toThrow("next() was called before the last one ended");
  });
});

test("mapped events keep their order, whether mapped synchronously or not", async () => {
  const mapped = mapPushStream(counted([1, 2, 3]).flow, (event) =>
    event === 2 ? Promise.resolve("later 2") : `${event}`,
  );
  expect(await Array.fromAsync(mapped)).toEqual(["1", "later 2", "3"]);
});

test("a consumer's exception is not reported as the producer's", async () => {
  for (const fail of [
    () => {
      throw new Error("mine");
    },
    () => Promise.reject(new Error("mine")),
  ]) {
    const { flow, made } = counted([1, 2]);
    const guarded = guard<number>({ take: fail });
    await flow.pushTo(guarded.consumer);
    expect(made).toEqual([1, "let go"]);
    expect(() => guarded.check()).toThrow("mine");
  }
});

describe("deliverAll", () => {
  test("waits for demand in the middle, then continues in order", async () => {
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
    ["synchronously", (event) => event !== 2],
    ["asynchronously", async (event) => event !== 2],
  ])("delivers nothing after the consumer stopped, decided %s", async (_, answer) => {
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
])("andThen continues only where there is demand: %s", async (more, expected, calls) => {
  let called = 0;
  const result = andThen(more, () => ++called > 0);
  expect(await result).toBe(expected);
  expect(called).toBe(calls);
});

describe("a serial queue", () => {
  test("delivers synchronously while there is demand", () => {
    const queue = new SerialQueue();
    expect(queue.pass(() => true)).toBe(true);
    expect(queue.demand).toBe(true);
  });

  test("keeps the order while there is no demand, and is synchronous again afterwards", async () => {
    const queue = new SerialQueue();
    const room = Promise.withResolvers<boolean>();
    const passed: number[] = [];
    const pass = (event: number, more: Demand) =>
      queue.pass(() => {
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

  test.each<[string, (queue: SerialQueue) => unknown]>([
    ["a stop", (queue) => queue.pass(() => false)],
    ["an asynchronous stop", (queue) => queue.pass(async () => false)],
    ["close()", (queue) => queue.close()],
  ])("delivers nothing after %s", async (_, shut) => {
    const queue = new SerialQueue();
    await shut(queue);
    let passed = false;
    expect(await queue.pass(() => (passed = true))).toBe(false);
    expect(passed).toBe(false);
  });

  test("rejects later events with an earlier failure", async () => {
    const queue = new SerialQueue();
    await expect(queue.pass(() => Promise.reject(new Error("full")))).rejects.toThrow("full");
    await expect(queue.pass(() => true)).rejects.toThrow("full");
  });
});
