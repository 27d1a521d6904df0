import { describe, expect, test, vi } from "vitest";
import {
  createCachedPretokenEncoder,
  MAX_CACHED_BYTES,
  MAX_SCOPES,
} from "../../src/tokenizer/pretoken-cache.ts";
import type { TokenId } from "../../src/tokenizer/index.ts";
import { toBytes } from "../helpers/text-bytes.ts";

/** Stands in for encoding: one number for a fixed number of bytes. */
function numbersOf(bytes: Uint8Array, bytesPerId: number): TokenId[] {
  return Array.from({ length: Math.ceil(bytes.length / bytesPerId) }, (_, i) =>
    bytes
      .subarray(i * bytesPerId, (i + 1) * bytesPerId)
      .reduce((id, byte) => (id * 257 + byte) % 1_000_003, 1),
  );
}

function createCounting(bytesPerId: number) {
  const work = vi.fn<() => void>();
  const cached = createCachedPretokenEncoder((ids, view, start, length) => {
    work();
    ids.push(...numbersOf(new Uint8Array(view.buffer, start, length), bytesPerId));
  });
  const encode = (pretoken: string, scope = ""): TokenId[] => {
    const text = toBytes(pretoken);
    const ids: TokenId[] = [];
    cached.encode(ids, text.view, 0, text.length, cached.scopeOf(scope));
    return ids;
  };
  return {
    work,
    encode,
    expected: (pretoken: string) => numbersOf(Buffer.from(pretoken), bytesPerId),
  };
}

describe("a pretoken is encoded once and then cached", () => {
  test.each([1, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15, MAX_CACHED_BYTES])("of %s bytes", (length) => {
    const { work, encode, expected } = createCounting(6);
    const pretoken = "abcdefghijklmnop".slice(0, length);
    expect([encode(pretoken), encode(pretoken)]).toEqual([expected(pretoken), expected(pretoken)]);
    expect(work).toHaveBeenCalledTimes(1);
  });
});

test("a pretoken of more than three ids is encoded each time", () => {
  const { work, encode, expected } = createCounting(2);
  expect([encode("abcdefg"), encode("abcdefg")]).toEqual([
    expected("abcdefg"),
    expected("abcdefg"),
  ]);
  expect(work).toHaveBeenCalledTimes(2);
});

test.each([
  ["with the same beginning", (index: number) => `samestart${index.toString(36).padStart(5, "_")}`],
  ["with the same end", (index: number) => `${index.toString(36).padStart(5, "_")}sameending`],
  ["that differ in their length", (index: number) => "\0".repeat(1 + (index % 16))],
  ["short ones", (index: number) => index.toString(36)],
])("no pretoken is taken for another: %s", (_, create) => {
  // Three times as many as there are slots.
  const { encode, expected } = createCounting(6);
  const pretokens = Array.from({ length: 24_576 }).map((_each, index) => create(index));
  expect(pretokens.map((pretoken) => encode(pretoken))).toEqual(
    pretokens.map((pretoken) => expected(pretoken)),
  );
});

describe("a pretoken of one scope", () => {
  test("is not cached for another, and stays cached in its own", () => {
    const { work, encode, expected } = createCounting(6);
    expect(encode("xylem", "a")).toEqual(expected("xylem"));
    expect(encode("xylem", "b")).toEqual(expected("xylem"));
    expect(work).toHaveBeenCalledTimes(2);
    encode("xylem", "a");
    encode("xylem", "b");
    expect(work).toHaveBeenCalledTimes(2);
  });

  test("is never cached for a scope that reuses the number of an evicted one", () => {
    const { work, encode } = createCounting(6);
    const scopes = Array.from({ length: 3 * MAX_SCOPES }, (_, index) => `scope ${index}`);
    for (const scope of scopes) encode("xylem", scope);
    expect(work).toHaveBeenCalledTimes(scopes.length);
  });
});
