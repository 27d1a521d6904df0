import { expect, test } from "vitest";
import { toLineChanges } from "../../../../src/node/cli/connect/undo-lines.ts";

const text = (...lines: string[]) => lines.map((line) => `${line}\n`).join("");

test("shows what is added and removed, with two lines around it", () => {
  const before = text("1", "2", "3", "4", "5", "6", "7", "8", "9");
  const after = text("1", "2", "3", "4", "five", "6", "7", "8", "9", "10");
  expect(toLineChanges(before, after)).toBe(
    text("  …", "  3", "  4", "- 5", "+ five", "  6", "  7", "  8", "  9", "+ 10").trimEnd(),
  );
});

test.each([
  ["", text("a"), "+ a"],
  [text("a"), "", "- a"],
  [text("a", "b", "c"), text("b", "c", "d"), "- a\n  b\n  c\n+ d"],
])("from %j to %j", (before, after, shown) => {
  expect(toLineChanges(before, after)).toBe(shown);
});

test("of texts without a common line, however long, all lines are shown", () => {
  const lines = (name: string) => text(...Array.from({ length: 3000 }, (_, n) => `${name}${n}`));
  expect(toLineChanges(lines("a"), lines("b")).split("\n")).toHaveLength(6000);
});
