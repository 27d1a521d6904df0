import { array, assert, constantFrom, oneof, property, string } from "fast-check";
import { describe, expect, test } from "vitest";
import { ProtocolFault, type Reply, ReplyReader } from "../../../src/node/redis/reply-reader.ts";

const MAX_BYTES = 1000;

/** The replies in the bytes, in pieces that end at these places, and whether they break the protocol. */
function read(bytes: Buffer, ends: readonly number[] = []) {
  const replies: Reply[] = [];
  const reader = new ReplyReader(MAX_BYTES, (reply) => replies.push(reply));
  const cuts = [...ends, bytes.length].toSorted((a, b) => a - b);
  let from = 0;
  try {
    for (const to of cuts) {
      reader.push(bytes.subarray(from, to));
      from = to;
    }
  } catch (error) {
    if (!(error instanceof ProtocolFault)) throw error;
    return { replies, fault: true };
  }
  return { replies, fault: false };
}

const bulk = (text: string) => `$${Buffer.byteLength(text)}\r\n${text}\r\n`;

describe("a reply", () => {
  test.each<[string, Reply]>([
    ["+OK\r\n", { type: "status", text: "OK" }],
    ["-ERR why\r\n", { type: "error", text: "ERR why" }],
    [":-12\r\n", { type: "integer" }],
    ["$-1\r\n", { type: "nil" }],
    [bulk(""), { type: "text", text: "" }],
    [bulk("é👩‍🚀\r\n$3\r\n"), { type: "text", text: "é👩‍🚀\r\n$3\r\n" }],
    [bulk("x".repeat(MAX_BYTES)), { type: "text", text: "x".repeat(MAX_BYTES) }],
  ])("%j is read", (bytes, reply) => {
    expect(read(Buffer.from(bytes))).toEqual({ replies: [reply], fault: false });
  });

  test.each([
    "?\r\n",
    "\r\n",
    "OK\n",
    "+OK\n",
    ":\r\n",
    ":1.5\r\n",
    "$x\r\n",
    "$1\r\nabc",
    "_\r\n",
    "*1\r\n",
    "%1\r\n",
  ])("%j breaks the protocol", (bytes) => {
    expect(read(Buffer.from(bytes))).toEqual({ replies: [], fault: true });
  });

  test.each([MAX_BYTES + 1, 4_000_000_000])("of %i bytes is longer than allowed", (length) => {
    expect(read(Buffer.from(`$${length}\r\nx`))).toEqual({
      replies: [{ type: "oversized" }],
      fault: true,
    });
  });
});

test("the replies do not depend on where their bytes are cut", () => {
  const piece = oneof(
    constantFrom("+OK\r\n", "-ERR\r\n", ":1\r\n", "$-1\r\n", "*1\r\n", "\n", "$9999\r\n"),
    string({ unit: "binary", maxLength: 8 }).map(bulk),
  );
  assert(
    property(array(piece, { maxLength: 6 }), (pieces) => {
      const bytes = Buffer.from(pieces.join(""));
      const each = Array.from({ length: bytes.length }, (_, at) => at);
      expect(read(bytes, each)).toEqual(read(bytes));
    }),
  );
});

test("a value in single bytes costs the memory of its length, and one step a byte", () => {
  let bytes = 0;
  const reader = new ReplyReader(1e6, (reply) => {
    bytes = reply.type === "text" ? reply.text.length : -1;
  });
  const all = Buffer.from(bulk("x".repeat(1e6)));
  let steps = 0;
  for (let at = 0; at < all.length; at++, steps++) reader.push(all.subarray(at, at + 1));
  expect([bytes, steps]).toEqual([1e6, all.length]);
});

test("a line without end is given up after a kilobyte", () => {
  let pushed = 0;
  const reader = new ReplyReader(1e6, () => {});
  expect(() => {
    for (; pushed < 10_000; pushed++) reader.push(Buffer.from("+"));
  }).toThrow(new ProtocolFault());
  expect(pushed).toBeLessThan(1100);
});
