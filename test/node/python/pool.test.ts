import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Interpreter } from "../../../src/node/python/interpreter.ts";
import {
  InterpreterPool,
  type Lease,
  type InterpreterPoolOptions,
} from "../../../src/node/python/pool.ts";

const never = new AbortController().signal;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function createPoolOfFakes(options: Partial<InterpreterPoolOptions> = {}) {
  let alive = 0;
  let most = 0;
  let started = 0;
  function start(): Promise<Interpreter> {
    started++;
    most = Math.max(most, ++alive);
    let lives = true;
    return Promise.resolve({
      get alive() {
        return lives;
      },
      run: () => Promise.reject(new Error("not called")),
      kill() {
        if (lives) alive--;
        lives = false;
        return Promise.resolve();
      },
    });
  }
  let ids = 0;
  const pool = new InterpreterPool({
    start,
    newId: () => `session-${++ids}`,
    max: 4,
    maxPerTenant: 4,
    warm: 0,
    idleMs: 1000,
    waitMs: 500,
    ...options,
  });
  return { pool, counts: () => ({ alive, most, started }) };
}

function collect(promises: readonly Promise<Lease>[]) {
  const leases: Lease[] = [];
  const errors: string[] = [];
  for (const each of promises) {
    each.then(
      (lease) => leases.push(lease),
      (error: Error) => errors.push(error.message),
    );
  }
  return { leases, errors };
}

const settle = () => vi.advanceTimersByTimeAsync(0);

test("20 sessions with a limit of 4: at most 4 processes, and all sessions are served in turn", async () => {
  const { pool, counts } = createPoolOfFakes();
  const { leases, errors } = collect(
    Array.from({ length: 20 }, (_, index) => pool.acquire(`tenant-${index}`, undefined, never)),
  );
  await settle();
  expect(leases.length).toBe(4);
  for (let served = 0; served < 20; served++) {
    leases[served]?.release();
    await settle();
  }
  expect(leases.length).toBe(20);
  expect(errors).toEqual([]);
  expect(counts().most).toBe(4);
});

test("sessions without capacity in time are refused", async () => {
  const { pool, counts } = createPoolOfFakes();
  const { leases, errors } = collect(
    Array.from({ length: 20 }, () => pool.acquire("acme", undefined, never)),
  );
  await vi.advanceTimersByTimeAsync(500);
  expect([leases.length, errors.length]).toEqual([4, 16]);
  expect(errors[0]).toMatch(/^All Python interpreters are in use\./);
  expect(counts().most).toBe(4);
});

test("a tenant gets at most its share, and does not delay others", async () => {
  const { pool } = createPoolOfFakes({ maxPerTenant: 2 });
  const greedy = collect(
    Array.from({ length: 10 }, () => pool.acquire("greedy", undefined, never)),
  );
  const modest = collect([pool.acquire("modest", undefined, never)]);
  await settle();
  expect([greedy.leases.length, modest.leases.length]).toEqual([2, 1]);
});

test("tenants are admitted in turn", async () => {
  const { pool } = createPoolOfFakes({ max: 1 });
  const order: string[] = [];
  const serve = async (tenant: string) => {
    const lease = await pool.acquire(tenant, undefined, never);
    order.push(tenant);
    lease.release();
  };
  const first = await pool.acquire("a", undefined, never);
  for (const tenant of ["a", "a", "b"]) {
    void serve(tenant);
  }
  first.release();
  for (let turn = 0; turn < 5; turn++) await settle();
  expect(order).toEqual(["a", "b", "a"]);
});

test("a session is resumed by its own tenant only, and by one at a time", async () => {
  const { pool } = createPoolOfFakes();
  const lease = await pool.acquire("a", undefined, never);
  expect((await pool.acquire("a", lease.id, never)).resumed).toBe(false);
  lease.release();
  expect((await pool.acquire("b", lease.id, never)).resumed).toBe(false);
  const again = await pool.acquire("a", lease.id, never);
  expect([again.resumed, again.interpreter]).toEqual([true, lease.interpreter]);
});

test("an unused session ends after its idle time, not before", async () => {
  const { pool, counts } = createPoolOfFakes();
  const lease = await pool.acquire("a", undefined, never);
  await vi.advanceTimersByTimeAsync(5000);
  expect(counts().alive).toBe(1);
  lease.release();
  const resumed = await pool.acquire("a", lease.id, never);
  await vi.advanceTimersByTimeAsync(5000);
  expect(counts().alive).toBe(1);
  resumed.release();
  await vi.advanceTimersByTimeAsync(999);
  expect(counts().alive).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(counts().alive).toBe(0);
  expect((await pool.acquire("a", lease.id, never)).resumed).toBe(false);
});

test("an idle session is ended for a waiting one, first of the tenant with the most sessions", async () => {
  const { pool, counts } = createPoolOfFakes({ max: 3 });
  const [modest, ...many] = await Promise.all(
    ["modest", "many", "many"].map((tenant) => pool.acquire(tenant, undefined, never)),
  );
  for (const lease of [modest, ...many]) lease?.release();
  await pool.acquire("newcomer", undefined, never);
  expect(counts().most).toBe(3);
  expect((await pool.acquire("modest", modest?.id, never)).resumed).toBe(true);
  expect((await pool.acquire("many", many[1]?.id, never)).resumed).toBe(true);
});

test("sessions that become idle together are all ended for waiting ones", async () => {
  const { pool, counts } = createPoolOfFakes();
  const leases = await Promise.all(
    Array.from({ length: 4 }, () => pool.acquire("acme", undefined, never)),
  );
  const waiting = collect(Array.from({ length: 4 }, () => pool.acquire("acme", undefined, never)));
  for (const lease of leases) lease.release();
  await settle();
  await settle();
  expect(waiting.leases.length).toBe(4);
  expect(counts().most).toBe(4);
});

test("a slot is released when an interpreter has died", async () => {
  const { pool } = createPoolOfFakes({ max: 1 });
  const lease = await pool.acquire("a", undefined, never);
  const { leases } = collect([pool.acquire("b", undefined, never)]);
  await lease.interpreter.kill();
  lease.release();
  await settle();
  expect(leases.length).toBe(1);
});

test("a slot is released when an interpreter does not start", async () => {
  let fails = true;
  const failures: unknown[] = [];
  const { pool } = createPoolOfFakes({
    max: 1,
    onFailure: (error) => failures.push(error),
    start() {
      if (fails) return Promise.reject(new Error("no memory"));
      return Promise.resolve({
        alive: true,
        run: () => Promise.reject(new Error("not called")),
        kill: () => Promise.resolve(),
      });
    },
  });
  await expect(pool.acquire("a", undefined, never)).rejects.toThrow("did not start");
  fails = false;
  await expect(pool.acquire("a", undefined, never)).resolves.toMatchObject({ resumed: false });
  expect(failures.length).toBe(1);
});

test("an aborted request leaves the queue", async () => {
  const { pool } = createPoolOfFakes({ max: 1 });
  const lease = await pool.acquire("a", undefined, never);
  const leaving = new AbortController();
  const left = collect([pool.acquire("b", undefined, leaving.signal)]);
  const stays = collect([pool.acquire("c", undefined, never)]);
  leaving.abort(new Error("left"));
  lease.release();
  await settle();
  await settle();
  expect(left.errors).toEqual(["left"]);
  expect(stays.leases.length).toBe(1);
});

test("a warm interpreter is used and replaced, and counts towards the limit", async () => {
  const { pool, counts } = createPoolOfFakes({ max: 2, warm: 1 });
  pool.prepare();
  await settle();
  expect(counts().started).toBe(1);
  await pool.acquire("a", undefined, never);
  await settle();
  expect(counts().started).toBe(2);
  await pool.acquire("b", undefined, never);
  await settle();
  expect(counts()).toEqual({ alive: 2, most: 2, started: 2 });
});

test("a session takes the interpreter that is still starting ahead, and learns at once that it did not start", async () => {
  const starts: PromiseWithResolvers<Interpreter>[] = [];
  const failures: unknown[] = [];
  const { pool } = createPoolOfFakes({
    max: 1,
    warm: 1,
    onFailure: (error) => failures.push(error),
    start() {
      const starting = Promise.withResolvers<Interpreter>();
      starts.push(starting);
      return starting.promise;
    },
  });
  pool.prepare();
  const { errors } = collect([pool.acquire("a", undefined, never)]);
  starts[0]?.reject(new Error("no memory"));
  await settle();
  expect(errors).toEqual(["The Python interpreter did not start. Answer without Python."]);
  starts[1]?.reject(new Error("no memory"));
  await settle();
  // The next session starts an interpreter again; nothing starts one earlier.
  expect([starts.length, failures.length]).toEqual([2, 2]);
});

test("close kills the interpreters that are still starting as soon as they have started", async () => {
  const starting = Promise.withResolvers<Interpreter>();
  let kills = 0;
  const { pool } = createPoolOfFakes({ warm: 1, start: () => starting.promise });
  pool.prepare();
  await pool.close();
  starting.resolve({
    alive: true,
    run: () => Promise.reject(new Error("not called")),
    kill: () => Promise.resolve(void kills++),
  });
  await settle();
  expect(kills).toBe(1);
});

test("close kills all processes and refuses waiting sessions", async () => {
  const { pool, counts } = createPoolOfFakes({ max: 2, warm: 1 });
  pool.prepare();
  await pool.acquire("a", undefined, never);
  await pool.acquire("a", undefined, never);
  const { errors } = collect([pool.acquire("b", undefined, never)]);
  await pool.close();
  expect(counts().alive).toBe(0);
  expect(errors).toEqual(["The gateway is being shut down."]);
});
