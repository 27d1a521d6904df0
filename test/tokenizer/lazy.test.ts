import { expect, test, vi } from "vitest";
import { createEncoder } from "../../src/tokenizer/encoder.ts";
import { createDecoder, isSpecial, o200kHarmony, tokenText } from "../../src/tokenizer/index.ts";
import { unpackTokenBytes } from "../../src/tokenizer/token-bytes.ts";

vi.mock("../../src/tokenizer/encoder.ts", { spy: true });
vi.mock("../../src/tokenizer/token-bytes.ts", { spy: true });

// In order: each test goes on where the one before it ended, and counts its own calls.

test("nothing is built by importing, or by asking for the tokenizer", () => {
  o200kHarmony();
  expect(isSpecial(200_006)).toBe(true);
  expect(unpackTokenBytes).toHaveBeenCalledTimes(0);
});

test("decoding builds no tables for encoding", () => {
  expect(tokenText(24_912)).toBe("hello");
  expect(o200kHarmony().decode([24_912, 2375])).toBe("hello world");
  expect(createDecoder().push(24_912)).toBe("hello");
  expect(unpackTokenBytes).toHaveBeenCalledTimes(1);
  expect(createEncoder).toHaveBeenCalledTimes(0);
});

test("encoding builds them, once, from the same bytes", () => {
  expect(o200kHarmony().encode("hello world")).toEqual([24_912, 2375]);
  expect(o200kHarmony().encode("hello")).toEqual([24_912]);
  expect(unpackTokenBytes).toHaveBeenCalledTimes(0);
  expect(createEncoder).toHaveBeenCalledTimes(1);
});
