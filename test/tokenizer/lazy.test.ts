import { afterAll, expect, test, vi } from "vitest";
import type { TokenBytes } from "../../src/tokenizer/token-bytes.ts";

vi.mock("../../src/tokenizer/encoder.ts", { spy: true });
vi.mock("../../src/tokenizer/token-bytes.ts", { spy: true });

// Other files have built the tokenizer in this process, and later ones must not get the spied one.
vi.resetModules();
afterAll(() => void vi.resetModules());

const { Encoder } = await import("../../src/tokenizer/encoder.ts");
const { createDecoder, isSpecial, o200kHarmony, tokenText } =
  await import("../../src/tokenizer/index.ts");
const { unpackTokenBytes } = await import("../../src/tokenizer/token-bytes.ts");

/** Chinese for "world". */
const OTHER_ID = 185_558;
let tokens: TokenBytes;

// In order: each test continues from the state of the previous one, and counts its own calls.

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
  expect(Encoder).toHaveBeenCalledTimes(0);
  const [unpacked] = vi.mocked(unpackTokenBytes).mock.results;
  if (unpacked?.type !== "return") throw new Error("nothing was unpacked");
  tokens = unpacked.value;
});

test("encoding builds them, once, from the same bytes", () => {
  expect(o200kHarmony().encode("hello world")).toEqual([24_912, 2375]);
  expect(o200kHarmony().encode("hello")).toEqual([24_912]);
  expect(unpackTokenBytes).toHaveBeenCalledTimes(0);
  expect(Encoder).toHaveBeenCalledTimes(1);
});

test("the tokens of other scripts are unpacked when a letter of one comes", () => {
  expect(o200kHarmony().encode("“hello” 🫠")).toHaveLength(6);
  expect(tokens.places[OTHER_ID]).toBe(0);
  expect(o200kHarmony().encode("hello 世界")).toEqual([24_912, OTHER_ID]);
  expect(tokens.places[OTHER_ID]).not.toBe(0);
});
