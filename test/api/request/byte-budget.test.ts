import { afterEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { ByteBudget } from "../../../src/api/request/byte-budget.ts";

afterEach(() => {
  vi.useRealTimers();
});

const request = { signal: new AbortController().signal };

/** The real `setImmediate`, beside the fake timers. */
const nextTurn = setImmediate;

const refusal = z.object({ status: z.number() });

/** The state of a promise, after all that can settle has. */
async function stateOf(promise: Promise<unknown>): Promise<string> {
  const settled = promise.then(
    () => "room",
    (error: unknown) => `${refusal.safeParse(error).data?.status ?? "left"}`,
  );
  const turn = new Promise<string>((resolve) => {
    nextTurn(() => resolve("waits"));
  });
  return Promise.race([settled, turn]);
}

describe("a budget of bytes", () => {
  test("lets a tenant send as much at a time as one body may have; more waits in order", async () => {
    const budget = new ByteBudget(100);
    const first = await budget.reserve("a", 60, request);
    const second = await budget.reserve("a", 40, request);
    const large = budget.reserve("a", 50, request);
    const small = budget.reserve("a", 10, request);
    expect(await stateOf(large)).toBe("waits");
    second.release();
    // The small one would fit, but it came later.
    expect([await stateOf(large), await stateOf(small)]).toEqual(["waits", "waits"]);
    first.release();
    expect([await stateOf(large), await stateOf(small)]).toEqual(["room", "room"]);
    // Releasing again changes nothing.
    first.release();
    expect(await stateOf(budget.reserve("a", 41, request))).toBe("waits");
  });

  test("does not let one tenant wait for another, unless the whole is used up", async () => {
    const budget = new ByteBudget(100);
    const leases = [];
    for (const tenant of ["a", "b", "c", "d"]) {
      leases.push(await budget.reserve(tenant, 100, request));
    }
    const other = budget.reserve("e", 100, request);
    const own = budget.reserve("a", 1, request);
    expect([await stateOf(other), await stateOf(own)]).toEqual(["waits", "waits"]);
    leases[1]?.release();
    expect([await stateOf(other), await stateOf(own)]).toEqual(["room", "waits"]);
  });

  test("refuses after ten seconds, with the reason, and forgets the waiting request", async () => {
    vi.useFakeTimers();
    const budget = new ByteBudget(100);
    await budget.reserve("a", 100, request);
    const refused = budget.reserve("a", 1, request).catch((error: unknown) => error);
    const next = budget.reserve("a", 0, request);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await refused).toMatchObject({
      message:
        "The gateway is receiving requests of this key with more than 100 bytes together. Send fewer at a time.",
      status: 429,
      errorType: "rate_limit_exceeded",
      retryAfter: 1,
    });
    // The request waited behind the refused one, and needs no room.
    expect(await stateOf(next)).toBe("room");
    for (const tenant of ["b", "c", "d"]) await budget.reserve(tenant, 100, request);
    const all = budget.reserve("e", 1, request).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await all).toMatchObject({
      message: "The gateway is receiving too many large requests. Try again later.",
      status: 503,
      errorType: "provider_overloaded",
      retryAfter: 1,
    });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("gives the place of a client that leaves to the next one", async () => {
    const budget = new ByteBudget(100);
    const held = await budget.reserve("a", 80, request);
    const leaving = new AbortController();
    const left = budget.reserve("a", 90, leaving);
    const next = budget.reserve("a", 20, request);
    expect(await stateOf(next)).toBe("waits");
    leaving.abort();
    expect([await stateOf(left), await stateOf(next)]).toEqual(["left", "room"]);
    expect(await stateOf(budget.reserve("a", 1, leaving))).toBe("left");
    held.release();
    expect(await stateOf(budget.reserve("a", 80, request))).toBe("room");
  });

  test("refuses at once when many wait", async () => {
    const budget = new ByteBudget(100);
    await budget.reserve("a", 100, request);
    for (let count = 0; count < 256; count++) void budget.reserve("a", 1, request).catch(() => {});
    expect(await stateOf(budget.reserve("a", 1, request))).toBe("429");
    expect(await stateOf(budget.reserve("b", 1, request))).toBe("room");
  });

  test("a lease that grows is refused where there is no room, and keeps what it has", async () => {
    const budget = new ByteBudget(100);
    const growing = budget.open("a");
    growing.resize(90);
    expect(() => growing.resize(101)).toThrow(
      "The gateway is receiving requests of this key with more than 100 bytes together. Send fewer at a time.",
    );
    const waiting = budget.reserve("a", 20, request);
    expect(await stateOf(waiting)).toBe("waits");
    growing.resize(80);
    expect(await stateOf(waiting)).toBe("room");
  });
});
