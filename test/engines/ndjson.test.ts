import { expect, test } from "vitest";

import { createLineSplitter } from "../../src/engines/ollama.ts";
import { cuts, eventsOf } from "./support.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

test.each([
  ["lines", "a\nb\n", ["a", "b"]],
  ["carriage returns, which JSON takes for blanks", "a\r\nb\r\n", ["a\r", "b\r"]],
  ["blank lines, which are dropped", "\n \na\n\r\n", ["a"]],
  ["characters of four bytes", "👩\u200d🚀 ü\n", ["👩\u200d🚀 ü"]],
  ["a line without end, which is dropped", "a\nhalf", ["a"]],
])("%s, cut anywhere", (_, stream, expected) => {
  for (const pieces of cuts(encode(stream))) {
    const splitter = createLineSplitter();
    expect(pieces.flatMap((piece) => eventsOf(splitter, piece))).toEqual(expected);
  }
});

test("returns the lines of one push together", () => {
  const splitter = createLineSplitter();
  expect(eventsOf(splitter, encode("a\nb\nc"))).toEqual(["a", "b"]);
  expect(eventsOf(splitter, encode("d\n"))).toEqual(["cd"]);
});
