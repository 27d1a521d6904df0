import { expect, test } from "vitest";

import { rankByAffinity } from "../../../src/engines/pool/choose-backend.ts";

const BACKENDS = ["a", "b", "c", "d"].map((id) => ({ id }));
const KEYS = Array.from({ length: 4000 }, (_, i) => `conversation-${i}`);

const firstOf = (key: string, backends = BACKENDS): string | undefined =>
  rankByAffinity(key, backends)[0]?.id;

test("the same key gives the same order, in whatever order the backends are configured", () => {
  const order = rankByAffinity("conversation-1", BACKENDS);
  expect(rankByAffinity("conversation-1", BACKENDS.toReversed())).toEqual(order);
  expect(order.map(({ id }) => id).toSorted()).toEqual(["a", "b", "c", "d"]);
});

test("similar keys spread evenly over the backends", () => {
  const counts = Map.groupBy(KEYS, (key) => firstOf(key));
  for (const { id } of BACKENDS) {
    const share = (counts.get(id)?.length ?? 0) / KEYS.length;
    expect(share).toBeGreaterThan(0.22);
    expect(share).toBeLessThan(0.28);
  }
});

test("when a backend goes, only its own keys move, and they spread", () => {
  const rest = BACKENDS.filter(({ id }) => id !== "b");
  const moved = KEYS.filter((key) => firstOf(key) !== firstOf(key, rest));
  expect(moved).toEqual(KEYS.filter((key) => firstOf(key) === "b"));
  expect(new Set(moved.map((key) => firstOf(key, rest)))).toEqual(new Set(["a", "c", "d"]));
});
