import { describe, expect, test } from "vitest";
import type { EngineEvent } from "../../../src/index.ts";
import { consume, type Demand } from "../../../src/streams/push-stream.ts";
import { requestOf } from "../support.ts";
import {
  counts,
  createScriptedEngine,
  errorOf,
  FINISH,
  OPEN,
  poolOf,
  settle,
  type Step,
  TOKEN,
  WHOLE,
} from "./support.ts";

const LOOK_MS = 1000;
/** More than is read ahead. */
const LONG: EngineEvent[] = Array.from({ length: 30 }, () => ({
  type: "text",
  text: "x".repeat(50_000),
}));

/** A client that has room for the first events, and then only when a test says so. */
class Client {
  readonly events: EngineEvent[] = [];
  readonly leave = new AbortController();
  readonly end: Promise<unknown>;
  readonly #roomFor: number;
  #waiting: PromiseWithResolvers<boolean> | undefined;

  constructor(pool: ReturnType<typeof poolOf>, roomFor: number, tenant = "a") {
    this.#roomFor = roomFor;
    const events = pool.complete(requestOf({ tenant }), this.leave.signal);
    this.end = consume(events, (event) => this.#take(event)).then(
      () => "ended",
      (error: unknown) => error,
    );
  }

  /** Takes as many further events. */
  async read(events: number): Promise<void> {
    for (let n = 0; n < events; n++) {
      this.answer(true);
      await settle();
    }
  }

  answer(wanted: boolean): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(wanted);
  }

  #take(event: EngineEvent): Demand {
    this.events.push(event);
    if (event.type === "finish") return false;
    if (this.events.length < this.#roomFor) return true;
    this.#waiting = Promise.withResolvers();
    return this.#waiting.promise;
  }
}

/** One slot, held by a client that has stalled after its first token. */
async function stallOn(...script: readonly Step[]) {
  const engine = createScriptedEngine(script, WHOLE);
  const pool = poolOf([engine], { maxConcurrent: 1 });
  const stalled = new Client(pool, 2);
  await settle();
  return { pool, stalled };
}

async function look(pool: Awaited<ReturnType<typeof stallOn>>["pool"], times = 1): Promise<void> {
  for (let n = 0; n < times; n++) {
    pool.clock.advance(LOOK_MS);
    await settle();
  }
}

describe("a client that reads nothing", () => {
  test("gives its slot to a queued request when its engine has ended, and loses nothing", async () => {
    const script = [OPEN, TOKEN, ...Array<Step>(20).fill(TOKEN), FINISH];
    const { pool, stalled } = await stallOn(...script);
    const waiting = new Client(pool, 99, "b");
    await look(pool);
    expect(await waiting.end).toBe("ended");
    expect(stalled.events).toHaveLength(2);
    expect(counts(pool)).toEqual([0]);
    await stalled.read(21);
    expect(await stalled.end).toBe("ended");
    expect(stalled.events.map(({ type }) => type)).toEqual([
      "open",
      ...Array<string>(21).fill("ids"),
      "finish",
    ]);
    expect(pool.clock.timers).toBe(0);
  });

  test("keeps its slot while no request is queued", async () => {
    const { pool, stalled } = await stallOn(OPEN, TOKEN, TOKEN, FINISH);
    await look(pool, 60);
    expect(counts(pool)).toEqual([1]);
    await stalled.read(2);
    expect(await stalled.end).toBe("ended");
    expect(pool.clock.timers).toBe(0);
  });

  test("is cut off when the rest is too long to be read ahead, which does not count against the backend", async () => {
    const { pool, stalled } = await stallOn(OPEN, TOKEN, ...LONG, FINISH);
    const waiting = new Client(pool, 99, "b");
    await look(pool, 9);
    expect(pool.state.queued).toBe(1);
    await look(pool);
    expect(await stalled.end).toEqual(
      expect.objectContaining({
        kind: "tenant-limit",
        message:
          "Nothing of this answer was read for 10 s while other requests waited for its slot. Read answers as they arrive.",
      }),
    );
    expect(await waiting.end).toBe("ended");
    expect(stalled.events).toHaveLength(2);
    expect(pool.state.backends[0]).toMatchObject({ health: "up", inFlight: 0, ejections: 0 });
    expect(pool.clock.timers).toBe(0);
  });

  test("is not cut off while it reads a little", async () => {
    const { pool, stalled } = await stallOn(OPEN, TOKEN, ...LONG, FINISH);
    const waiting = new Client(pool, 99, "b");
    for (let n = 0; n < 29; n++) {
      await look(pool);
      await stalled.read(1);
    }
    await stalled.read(5);
    expect(await stalled.end).toBe("ended");
    expect(stalled.events).toHaveLength(33);
    expect(await waiting.end).toBe("ended");
  });

  test("gets what was read before its engine failed, and then the error", async () => {
    const { pool, stalled } = await stallOn(OPEN, TOKEN, TOKEN, errorOf("server-error"));
    const waiting = new Client(pool, 99, "b");
    await look(pool);
    expect(await waiting.end).toBe("ended");
    await stalled.read(2);
    expect(stalled.events).toEqual([expect.objectContaining(OPEN), TOKEN, TOKEN]);
    expect(await stalled.end).toEqual(
      expect.objectContaining({ kind: "server-error", message: "no: server-error." }),
    );
  });

  test("holds nothing after it has left, whether its engine has ended or not", async () => {
    for (const rest of [[FINISH], [new Promise<void>(() => {})]]) {
      const { pool, stalled } = await stallOn(OPEN, TOKEN, TOKEN, ...rest);
      const waiting = new Client(pool, 99, "b");
      await look(pool);
      stalled.leave.abort(new Error("left"));
      expect(await stalled.end).toEqual(new Error("left"));
      expect(await waiting.end).toBe("ended");
      expect(counts(pool)).toEqual([0]);
      expect(pool.clock.timers).toBe(0);
    }
  });

  test("ends its engine when it wants no more, though the engine is silent", async () => {
    const { pool, stalled } = await stallOn(OPEN, TOKEN, TOKEN, new Promise<void>(() => {}));
    const waiting = new Client(pool, 99, "b");
    await look(pool);
    stalled.answer(false);
    expect(await stalled.end).toBe("ended");
    expect(await waiting.end).toBe("ended");
    expect(pool.state.backends[0]).toMatchObject({ failed: 0, inFlight: 0 });
  });
});
