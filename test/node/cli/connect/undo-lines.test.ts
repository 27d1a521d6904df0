import * as fc from "fast-check";
import { expect, test } from "vitest";
import { undoLines } from "../../../../src/node/cli/connect/undo-lines.ts";

const text = (lines: string) => lines.replaceAll(" ", "\n");

test.each([
  ["a change elsewhere", "a b c d", "a B c d", "a B c D", "a b c D"],
  ["a line before", "a b", "a b X", "N a b X", "N a b"],
  ["lines behind what was added last", "a", "a X Y", "a X Y N", "a N"],
  ["nothing else", "a b", "a X", "a X", "a b"],
  ["a line that was taken away elsewhere", "a b c d", "a b c X", "a c X", "a c d"],
  ["the same line", "a b c", "a B c", "a Q c", undefined],
  ["a line within what was added", "a", "a X Y", "a X N Y", undefined],
  ["what was added is gone", "a b", "a b X", "a b Q", undefined],
])("%s", (_, before, after, current, expected) => {
  const undone = undoLines(text(before), text(after), text(current));
  expect(undone).toBe(expected === undefined ? undefined : text(expected));
});

test("a pair behind a table that goes would join another table", () => {
  const after = "[a]\nx = 1\n[ours]\ny = 2\n";
  expect(undoLines("[a]\nx = 1\n", after, `${after}z = 3\n`)).toBeUndefined();
  expect(undoLines("[a]\nx = 1\n", after, `${after}\n[theirs]\nz = 3\n`)).toBe(
    "[a]\nx = 1\n\n[theirs]\nz = 3\n",
  );
});

test("without other changes, the text of before comes back, whatever it was", () => {
  const lines = fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 12 });
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const [from, to] = [`${before.join("\n")}\n`, `${after.join("\n")}\n`];
      expect(undoLines(from, to, to)).toBe(from);
    }),
  );
});
