import { describe, expect, test } from "vitest";
import { Breaker, type Evidence, type Passage } from "../../../src/engines/pool/breaker.ts";

const OPTIONS = { failures: 2, pauseMs: 100, maxPauseMs: 300 };

const SOURCE = { tenant: "a", affinity: "c" };

/** A failing request at each of these moments. */
function failAt(breaker: Breaker, ...moments: readonly number[]): void {
  for (const now of moments) run(breaker, now, "unreached");
}

function run(breaker: Breaker, now: number, outcome: Evidence, tenant = "a"): void {
  const passage = breaker.enter(now);
  if (outcome === "served") breaker.begin(passage);
  breaker.end(now, passage, outcome, { tenant, affinity: tenant });
}

test("stays closed until enough failures in a row to reach the backend", () => {
  const breaker = new Breaker(OPTIONS);
  failAt(breaker, 0);
  expect(breaker.state(0)).toBe("closed");
  failAt(breaker, 1);
  expect([breaker.state(1), breaker.admits(1), breaker.waitMs(1)]).toEqual(["open", false, 100]);
  expect(breaker.ejections).toBe(1);
});

test.each<Evidence>(["served", "failed"])(
  "an answer in between starts the row again: %s",
  (outcome) => {
    const breaker = new Breaker(OPTIONS);
    failAt(breaker, 0);
    run(breaker, 0, outcome);
    failAt(breaker, 1);
    expect(breaker.state(1)).toBe("closed");
  },
);

test("a first token resets it too, long before the end", () => {
  const breaker = new Breaker(OPTIONS);
  const passage = breaker.enter(0);
  failAt(breaker, 0);
  breaker.begin(passage);
  failAt(breaker, 1);
  expect(breaker.state(1)).toBe("closed");
});

test("inconclusive outcomes do not count", () => {
  const breaker = new Breaker(OPTIONS);
  failAt(breaker, 0);
  run(breaker, 0, "unclear");
  failAt(breaker, 0);
  expect(breaker.state(0)).toBe("open");
});

test("error responses open it by rate, if they concern several clients", () => {
  const breaker = new Breaker(OPTIONS);
  for (let n = 0; n < 50; n += 1) run(breaker, 0, "failed", "a");
  expect(breaker.state(0)).toBe("closed");
  const ill = new Breaker(OPTIONS);
  for (let n = 0; n < 9; n += 1) run(ill, 0, "failed", n % 2 === 0 ? "a" : "b");
  expect(ill.state(0)).toBe("closed");
  run(ill, 0, "failed", "b");
  expect(ill.state(0)).toBe("open");
});

test("is not opened if it must not be, and reports doubt until a token arrives", () => {
  const breaker = new Breaker(OPTIONS, () => false);
  failAt(breaker, 0, 0, 0, 0);
  expect([breaker.state(0), breaker.isDoubtful, breaker.ejections]).toEqual(["closed", true, 0]);
  run(breaker, 0, "served");
  expect(breaker.isDoubtful).toBe(false);
});

describe("after the pause", () => {
  const halfOpen = (): Breaker => {
    const breaker = new Breaker(OPTIONS);
    failAt(breaker, 0, 0);
    return breaker;
  };
  /** Number of requests it allows before it refuses. */
  const enterAll = (breaker: Breaker, now: number): Passage[] => {
    const passages: Passage[] = [];
    while (breaker.admits(now) && passages.length < 20) passages.push(breaker.enter(now));
    return passages;
  };

  test("one request is let through, two after its first token, then four, then all", () => {
    const breaker = halfOpen();
    expect([breaker.state(99), breaker.admits(99)]).toEqual(["open", false]);
    expect([breaker.state(100), breaker.admits(100)]).toEqual(["half-open", true]);
    const first = enterAll(breaker, 100);
    expect(first).toHaveLength(1);
    for (const each of first) breaker.begin(each);
    expect(breaker.isDoubtful).toBe(true);
    const [second, ...third] = enterAll(breaker, 100);
    expect(third).toHaveLength(1);
    if (second) breaker.begin(second);
    // One trial is still in flight.
    const fourth = enterAll(breaker, 100);
    expect(fourth).toHaveLength(3);
    for (const each of fourth.slice(0, 1)) breaker.begin(each);
    expect([breaker.state(100), breaker.isDoubtful]).toEqual(["closed", false]);
  });

  test("a trial ends with its first token, not with its end", () => {
    const breaker = halfOpen();
    const [trial] = enterAll(breaker, 100);
    if (trial) breaker.begin(trial);
    expect(enterAll(breaker, 100)).toHaveLength(2);
    if (trial) breaker.end(100, trial, "served", SOURCE);
    expect(enterAll(breaker, 100)).toHaveLength(0);
  });

  test("an inconclusive trial makes room for the next", () => {
    const breaker = halfOpen();
    run(breaker, 100, "unclear");
    expect([breaker.state(100), breaker.admits(100)]).toEqual(["half-open", true]);
  });

  test("a failed trial opens it again, whether it was answered or not", () => {
    for (const outcome of ["unreached", "failed"] as const) {
      const breaker = halfOpen();
      run(breaker, 100, outcome);
      expect([breaker.state(100), breaker.waitMs(100)]).toEqual(["open", 200]);
    }
  });

  test("each failed trial doubles the pause up to a limit, closing makes it short again", () => {
    const breaker = halfOpen();
    failAt(breaker, 100);
    expect(breaker.waitMs(100)).toBe(200);
    failAt(breaker, 300);
    expect(breaker.waitMs(300)).toBe(300);
    failAt(breaker, 600);
    expect(breaker.waitMs(600)).toBe(300);
    for (let n = 0; n < 3; n += 1) run(breaker, 900, "served");
    failAt(breaker, 900, 900);
    expect(breaker.waitMs(900)).toBe(100);
  });

  test("requests that were in flight when it opened do not count", () => {
    const breaker = new Breaker(OPTIONS);
    const [good, bad] = [breaker.enter(0), breaker.enter(0)];
    failAt(breaker, 0, 0);
    breaker.begin(good);
    breaker.end(50, bad, "unreached", SOURCE);
    breaker.end(120, good, "failed", SOURCE);
    expect([breaker.state(120), breaker.waitMs(50), breaker.ejections]).toEqual([
      "half-open",
      50,
      1,
    ]);
  });

  test("nor does a trial of an earlier period", () => {
    const breaker = halfOpen();
    const early = breaker.enter(100);
    breaker.close();
    failAt(breaker, 100, 100);
    const [late] = enterAll(breaker, 200);
    breaker.end(200, early, "unreached", SOURCE);
    expect(breaker.state(200)).toBe("half-open");
    expect(breaker.admits(200)).toBe(false);
    if (late) breaker.end(200, late, "unclear", SOURCE);
    expect(breaker.admits(200)).toBe(true);
  });
});

test("a successful health check allows an early trial; it has no effect on a closed breaker", () => {
  const breaker = new Breaker(OPTIONS);
  breaker.allowTrial(10);
  expect(breaker.state(10)).toBe("closed");
  failAt(breaker, 10, 10);
  breaker.allowTrial(11);
  expect(breaker.state(11)).toBe("half-open");
});
