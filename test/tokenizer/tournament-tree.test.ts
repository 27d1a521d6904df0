import * as fc from "fast-check";
import { expect, test } from "vitest";
import { NO_RANK } from "../../src/tokenizer/token-tables.ts";
import { TournamentTree } from "../../src/tokenizer/tournament-tree.ts";

const value = fc.oneof(fc.integer({ min: 0, max: 5 }), fc.constant(NO_RANK));

test("finds the leftmost lowest value after any changes", () => {
  const changes = fc.array(fc.tuple(fc.nat(), value), { maxLength: 40 });
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 40 }), changes, (values, list) => {
      const tree = new TournamentTree(Int32Array.from(values));
      expect(tree.lowest()).toBe(lowestOf(values));
      for (const [place, to] of list) {
        const index = place % values.length;
        values[index] = to;
        tree.set(index, to);
        expect(tree.lowest()).toBe(lowestOf(values));
        expect(tree.value(index)).toBe(to);
      }
    }),
    { numRuns: 300 },
  );
});

function lowestOf(values: readonly number[]): number {
  const lowest = Math.min(...values);
  return lowest === NO_RANK ? -1 : values.indexOf(lowest);
}
