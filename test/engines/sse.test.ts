import * as fc from "fast-check";
import { expect, test } from "vitest";

import { createSseSplitter, MAX_EVENT_CHARS } from "../../src/engines/sse.ts";
import { cuts, eventsOf } from "./support.ts";
import { anyCharacter } from "../helpers/any-character.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

function split(pieces: readonly Uint8Array[]): string[] {
  const splitter = createSseSplitter();
  return pieces.flatMap((piece) => eventsOf(splitter, piece));
}

test.each([
  ["one event", "data: a\n\n", ["a"]],
  ["no space after the colon", "data:a\n\n", ["a"]],
  ["several at once", "data: a\n\ndata: b\n\n", ["a", "b"]],
  ["carriage returns", "data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]],
  ["data over several lines", "data: a\ndata: b\n\n", ["a\nb"]],
  ["comments of all kinds", ":\n\n: keepalive 3/7\n\n: ping\ndata: a\n\n", ["a"]],
  ["other fields", "event: x\nid: 7\nretry: 10\ndata: a\n\n", ["a"]],
  ["fields nobody knows", "nonsense\nfoo: bar\ndata: a\n\n", ["a"]],
  ["a BOM at the beginning, which is none of the data", "\ufeffdata: a\n\n", ["a"]],
  ["a BOM in the middle, which is", "data: a\ufeffb\n\n", ["a\ufeffb"]],
  ["characters of four bytes", "data: 👩\u200d🚀 ü\n\n", ["👩\u200d🚀 ü"]],
  ["an event without end, which is dropped", "data: a\n\ndata: half", ["a"]],
])("%s, cut anywhere", (_, stream, expected) => {
  for (const pieces of cuts(encode(stream))) expect(split(pieces)).toEqual(expected);
});

test("returns the events of one push together", () => {
  const splitter = createSseSplitter();
  expect(eventsOf(splitter, encode("data: a\n\ndata: b\n\ndata: c"))).toEqual(["a", "b"]);
  expect(eventsOf(splitter, encode("\n\n"))).toEqual(["c"]);
});

test("invalid UTF-8 is replaced, the rest is kept", () => {
  const bytes = Uint8Array.of(...encode("data: a"), 0xff, ...encode("b\n\n"));
  expect(split([bytes])).toEqual(["a\ufffdb"]);
});

test("refuses an event that never ends", () => {
  const splitter = createSseSplitter();
  const piece = encode(`data: ${"x".repeat(MAX_EVENT_CHARS / 2)}`);
  eventsOf(splitter, piece);
  expect(() => [eventsOf(splitter, piece), eventsOf(splitter, piece)]).toThrow(
    "an event longer than",
  );
});

test("any lines of text are returned unchanged, however they are split", () => {
  const line = fc
    .string({ unit: anyCharacter })
    .map((text) => text.replace(/[\r\n]/g, "").toWellFormed());
  const lengths = fc.infiniteStream(fc.integer({ min: 1, max: 9 }));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 5 }), lengths, (lines, sizes) => {
      const bytes = encode(lines.map((each) => `data: ${each}\n\n`).join(""));
      const pieces: Uint8Array[] = [];
      for (let at = 0; at < bytes.length;) {
        const size: number = sizes.next().value ?? 1;
        pieces.push(bytes.subarray(at, at + size));
        at += size;
      }
      expect(split(pieces)).toEqual(lines);
    }),
    { numRuns: 200 },
  );
});
