import { expect, test } from "vitest";
import { RecordBudget, RecordMemory } from "../../../src/telemetry/record/limits.ts";

test("what is kept of a kind is its beginning, and what is left out is counted", () => {
  const memory = new RecordMemory(Infinity, () => false);
  const budget = new RecordBudget(100, memory);
  const taken = [40, 90, 10].map((bytes) => budget.take(bytes, "reads", bytes / 10));
  expect(taken).toEqual([true, false, false]);
  // Another kind still has the room.
  expect(budget.take(60, "events", 1)).toBe(true);
  expect(budget.cut).toEqual([{ what: "reads", left: 10 }]);
  expect(memory.used).toBe(100);
  budget.release();
  expect(memory.used).toBe(0);
});
