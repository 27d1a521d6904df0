import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import { largeText } from "../fixtures/harmony-cases/differential-text.mjs";
import { ENCODE_CASES, LARGE_ENCODE_CASES } from "./golden-cases.ts";

const tokenizer = o200kHarmony();

test("every text encodes to the reference's ids", () => {
  expect(ENCODE_CASES).toHaveLength(1334);
  const ids = ENCODE_CASES.map(({ id, kind, text }) => [id, kind, tokenizer.encode(text)]);
  expect(ids).toEqual(ENCODE_CASES.map((each) => [each.id, each.kind, each.expected_token_ids]));
});

test("the number of large texts is known", () => {
  expect(LARGE_ENCODE_CASES).toHaveLength(7);
});

test.each(LARGE_ENCODE_CASES)("the large text $id gives the reference's ids", (large) => {
  const text = largeText(large.recipe);
  expect(sha256(Buffer.from(text)), "the text itself").toBe(large.text_sha256);
  const ids = tokenizer.encode(text);
  expect(ids).toHaveLength(large.expected_count);
  expect(sha256(littleEndian(ids))).toBe(large.expected_ids_sha256);
});

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function littleEndian(ids: readonly number[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(4 * ids.length));
  for (const [index, id] of ids.entries()) view.setUint32(4 * index, id, true);
  return new Uint8Array(view.buffer);
}
