/** Retries after error responses of backends: their number, and that the others wait. */
import { expect, test } from "vitest";
import { RetryBudget } from "../../../src/engines/pool/retry-budget.ts";
import { complete, requestOf } from "../support.ts";
import {
  createFakeClock,
  createScriptedEngine,
  errorOf,
  FINISH,
  OPEN,
  poolOf,
  settle,
  TOKEN,
} from "./support.ts";

const never = new AbortController().signal;

function budgetOf(inFlight = 0, maxWaiting = 4) {
  const clock = createFakeClock();
  const budget = new RetryBudget({ inFlight: () => inFlight, maxWaiting, timeoutMs: 1_000, clock });
  return { budget, clock };
}

/** The number of retries granted at once, of ten that two tenants request in turn. */
async function grantedOf(budget: RetryBudget, tenants: readonly string[]): Promise<number> {
  let granted = 0;
  const left = new AbortController();
  for (const tenant of tenants) {
    const count = (giveBack: unknown) => (granted += giveBack === undefined ? 0 : 1);
    void budget.acquire(tenant, left.signal).then(count, () => undefined);
  }
  await settle();
  left.abort();
  await settle();
  return granted;
}

const ab = (count: number) => Array.from({ length: count }, (_, n) => (n % 2 === 0 ? "a" : "b"));

test("allows ten at a time, or a fifth of the in-flight requests if that is more, and half of it per tenant", async () => {
  expect(await grantedOf(budgetOf(0).budget, ab(12))).toBe(10);
  expect(await grantedOf(budgetOf(100).budget, ab(24))).toBe(20);
  expect(await grantedOf(budgetOf(0).budget, Array(8).fill("a"))).toBe(5);
});

test("a queued retry is next when one is released, another tenant before one at its half", async () => {
  const { budget } = budgetOf();
  const held = await Promise.all(ab(10).map((tenant) => budget.acquire(tenant, never)));
  const order: string[] = [];
  for (const tenant of ["a", "c", "a"]) {
    void budget.acquire(tenant, never).then(() => order.push(tenant));
  }
  held[1]?.();
  held[1]?.();
  await settle();
  expect(order).toEqual(["c"]);
  expect(budget.waiting).toBe(2);
  held[0]?.();
  await settle();
  expect(order).toEqual(["c", "a"]);
  expect(budget.waiting).toBe(1);
});

test("retries that time out, exceed the limit or were aborted get none, and keep no timer", async () => {
  const { budget, clock } = budgetOf(0, 2);
  await Promise.all(ab(10).map((tenant) => budget.acquire(tenant, never)));
  const leaver = new AbortController();
  const left = budget.acquire("a", leaver.signal);
  const late = budget.acquire("a", never);
  expect(await budget.acquire("a", never)).toBeUndefined();
  leaver.abort(new Error("left"));
  await expect(left).rejects.toThrow("left");
  clock.advance(1_000);
  expect(await late).toBeUndefined();
  expect(clock.timers).toBe(0);
});

test("of a burst that one of two backends answers with errors, none is lost", async () => {
  const failing = createScriptedEngine([errorOf("server-error")]);
  const held = Promise.withResolvers<void>();
  const well = createScriptedEngine([OPEN, TOKEN, held.promise, FINISH]);
  const pool = poolOf([failing, well], { breaker: { failures: 100, pauseMs: 1, maxPauseMs: 1 } });
  const ends = Array.from({ length: 64 }, (_, n) =>
    complete(pool, requestOf({ tenant: `t${n % 3}`, affinity: `c${n}` })),
  );
  // The retried requests continue beyond their first token, and the budget is free again.
  for (let n = 0; n < 200 && well.requests.length < 64; n += 1) await settle();
  expect(well.requests).toHaveLength(64);
  held.resolve();
  const results = await Promise.all(ends);
  expect(results.filter(({ finish }) => finish === undefined)).toEqual([]);
  expect(pool.state.retries).toBe(failing.requests.length);
});

test("at most the budget is in flight at a backend that does not answer", async () => {
  const failing = createScriptedEngine([errorOf("server-error")]);
  const begin = Promise.withResolvers<void>();
  const slow = createScriptedEngine([OPEN, begin.promise, TOKEN, FINISH]);
  const pool = poolOf([failing, slow], { queueTimeoutMs: 5_000, maxAttempts: 2 });
  const send = (n: number) => complete(pool, requestOf({ tenant: `t${n % 3}`, affinity: `c${n}` }));
  const ends = Array.from({ length: 40 }, (_, n) => send(n));
  for (let n = 0; n < 50; n += 1) await settle();
  expect(pool.state.retries).toBe(10);
  expect(failing.requests.length).toBeGreaterThan(10);
  expect(pool.state.queued).toBe(failing.requests.length - 10);
  // A request that waits too long gets its own error.
  pool.clock.advance(5_000);
  begin.resolve();
  const results = await Promise.all(ends);
  const refused = results.filter(({ error }) => error !== undefined);
  expect(refused).toHaveLength(failing.requests.length - 10);
  expect(new Set(refused.map(({ error }) => error?.kind))).toEqual(new Set(["server-error"]));
  expect(pool.state).toMatchObject({ queued: 0, backends: [{ inFlight: 0 }, { inFlight: 0 }] });
});
