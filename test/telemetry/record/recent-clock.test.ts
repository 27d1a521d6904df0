/** While many ask for the time, some share an answer; who asks rarely, or needs it exactly, gets the time. */
import { expect, test } from "vitest";
import { RecentClock } from "../../../src/telemetry/record/recent-clock.ts";
import { tenthsBetween } from "../../../src/telemetry/record/tenths.ts";

/** How often a clock is read, and how late its answers are at most, while it is asked every so many milliseconds. */
function askEvery(ms: number) {
  let now = 1000;
  let reads = 0;
  const clock = new RecentClock(() => {
    reads += 1;
    return now;
  });
  const start = clock.now();
  let latest = 0;
  for (let asked = 0; asked < 1000; asked++) {
    now += ms;
    latest = Math.max(latest, now - 1000 - tenthsBetween(start, clock.recent()) / 10);
  }
  return { reads, latest };
}

test.each([
  { every: 20, reads: 1001, latest: 0.1 },
  { every: 1, reads: 1001, latest: 0.1 },
  { every: 0.9, reads: 230, latest: 6.4 },
  { every: 0.1, reads: 130, latest: 0.8 },
])("asked every $every ms", ({ every, reads, latest }) => {
  const result = askEvery(every);
  expect(result.reads).toBeLessThanOrEqual(reads);
  expect(result.latest).toBeLessThan(latest + 0.06);
});

test("the exact time is that for all who ask next, so that times never go back", () => {
  let now = 0;
  const clock = new RecentClock(() => now);
  const times: number[] = [];
  for (let step = 0; step < 300; step++) {
    now += step % 3;
    times.push(clock.recent(), clock.recent());
    expect(times[times.push(clock.now()) - 1]).toBe(now * 10);
  }
  expect(times).toEqual(times.toSorted((a, b) => a - b));
});

test("only the difference of times has a meaning, however long the clock has run", () => {
  for (const days of [0, 2, 3, 5, 100]) {
    let now = days * 24 * 3600 * 1000;
    const clock = new RecentClock(() => now);
    const start = clock.now();
    now += 12.34;
    expect(tenthsBetween(start, clock.now())).toBe(123);
    now += 100 * 3600 * 1000;
    expect(tenthsBetween(start, clock.now())).toBe(123 + 3_600_000_000);
  }
});
