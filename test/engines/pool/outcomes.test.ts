import { expect, test } from "vitest";
import {
  MIN_REQUESTS,
  Outcomes,
  type Source,
  WINDOW_MS,
} from "../../../src/engines/pool/outcomes.ts";

const of = (tenant: string, affinity = "c"): Source => ({ tenant, affinity });

/** The number of outcomes, their kind, and their clients. */
type Group = readonly [number, boolean, Source];

function judgeAll(groups: readonly Group[]): boolean {
  const outcomes = new Outcomes();
  for (const [count, failed, source] of groups) {
    for (let n = 0; n < count; n += 1) outcomes.add(0, failed, source);
  }
  return outcomes.areBad(0);
}

test.each<[string, boolean, Group[]]>([
  [
    "ten failures of two tenants",
    true,
    [
      [5, true, of("a")],
      [5, true, of("b")],
    ],
  ],
  [
    "nine",
    false,
    [
      [5, true, of("a")],
      [4, true, of("b")],
    ],
  ],
  [
    "half of them well",
    false,
    [
      [5, true, of("a")],
      [5, false, of("b")],
    ],
  ],
  [
    "more than half failed, of both",
    true,
    [
      [4, true, of("a")],
      [2, false, of("a")],
      [4, true, of("b")],
      [2, false, of("b")],
    ],
  ],
  ["any number of one tenant's, in one conversation", false, [[100, true, of("a")]]],
  [
    "of one tenant alone, in two conversations",
    true,
    [
      [5, true, of("a", "c1")],
      [5, true, of("a", "c2")],
    ],
  ],
  [
    "of one tenant in many conversations, while it is well for another",
    false,
    [
      [50, true, of("a", "c1")],
      [50, true, of("a", "c2")],
      [1, false, of("b", "c3")],
    ],
  ],
  [
    "of one tenant, and by chance one of another for whom it is well",
    false,
    [
      [50, true, of("a")],
      [1, true, of("b")],
      [3, false, of("b")],
    ],
  ],
])("%s", (_, bad, groups) => {
  expect(judgeAll(groups)).toBe(bad);
});

test("outcomes older than the window do not count", () => {
  const outcomes = new Outcomes();
  for (let n = 0; n < MIN_REQUESTS; n += 1) outcomes.add(n, true, of(n % 2 === 0 ? "a" : "b"));
  expect(outcomes.areBad(WINDOW_MS - 1)).toBe(true);
  expect(outcomes.areBad(WINDOW_MS)).toBe(false);
});

test("nor do those from before it was cleared", () => {
  const outcomes = new Outcomes();
  for (let n = 0; n < 20; n += 1) outcomes.add(0, true, of(n % 2 === 0 ? "a" : "b"));
  outcomes.clear();
  expect(outcomes.areBad(0)).toBe(false);
});

test("only the latest are kept, and they decide", () => {
  const outcomes = new Outcomes();
  for (let n = 0; n < 10_000; n += 1) outcomes.add(0, true, of(n % 2 === 0 ? "a" : "b"));
  for (let n = 0; n < 200; n += 1) outcomes.add(0, false, of("a"));
  expect(outcomes.areBad(0)).toBe(false);
});
