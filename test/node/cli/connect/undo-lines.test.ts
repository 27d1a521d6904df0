import * as fc from "fast-check";
import { expect, test } from "vitest";
import { toLineChanges, undoLines } from "../../../../src/node/cli/connect/undo-lines.ts";

const text = (lines: string) => lines.replaceAll(" ", "\n");

test.each([
  ["a change elsewhere", "a b c d", "a B c d", "a B c D", "a b c D"],
  ["a line before", "a b", "a b X", "N a b X", "N a b"],
  ["lines behind the lines added last", "a", "a X Y", "a X Y N", "a N"],
  ["nothing else", "a b", "a X", "a X", "a b"],
  ["a line that was taken away elsewhere", "a b c d", "a b c X", "a c X", "a c d"],
  ["a change of the replaced line", "a b c", "a B c", "a Q c", undefined],
  ["a line within the added lines", "a", "a X Y", "a X N Y", undefined],
  ["the added lines are gone", "a b", "a b X", "a b Q", undefined],
])("%s", (_, before, after, current, expected) => {
  const undone = undoLines(text(before), text(after), text(current));
  expect(undone).toBe(expected === undefined ? undefined : text(expected));
});

test("a pair behind a table that is removed would join another table", () => {
  const after = "[a]\nx = 1\n[ours]\ny = 2\n";
  expect(undoLines("[a]\nx = 1\n", after, `${after}z = 3\n`)).toBeUndefined();
  expect(undoLines("[a]\nx = 1\n", after, `${after}\n[theirs]\nz = 3\n`)).toBe(
    "[a]\nx = 1\n\n[theirs]\nz = 3\n",
  );
});

test("without other changes, the text before the change comes back", () => {
  const lines = fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 12 });
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const [from, to] = [`${before.join("\n")}\n`, `${after.join("\n")}\n`];
      expect(undoLines(from, to, to)).toBe(from);
    }),
  );
});

const linesOf = (...lines: string[]) => lines.map((line) => `${line}\n`).join("");

test("the changes are the lines added and removed, with two lines around them", () => {
  const before = linesOf("1", "2", "3", "4", "5", "6", "7", "8", "9");
  const after = linesOf("1", "2", "3", "4", "five", "6", "7", "8", "9", "10");
  expect(toLineChanges(before, after)).toBe(
    linesOf("  …", "  3", "  4", "- 5", "+ five", "  6", "  7", "  8", "  9", "+ 10").trimEnd(),
  );
});

test.each([
  ["", linesOf("a"), "+ a"],
  [linesOf("a"), "", "- a"],
  [linesOf("a", "b", "c"), linesOf("b", "c", "d"), "- a\n  b\n  c\n+ d"],
])("from %j to %j", (before, after, shown) => {
  expect(toLineChanges(before, after)).toBe(shown);
});

test("of texts without a common line, however long, all lines are shown", () => {
  const lines = (name: string) => linesOf(...Array.from({ length: 3000 }, (_, n) => `${name}${n}`));
  expect(toLineChanges(lines("a"), lines("b")).split("\n")).toHaveLength(6000);
});
