import { expect, test } from "vitest";
import { tokenText } from "../../../src/api/reply/held-reply.ts";
import { o200kHarmony, SPECIAL_TOKENS } from "../../../src/tokenizer/index.ts";

test("a token with complete characters has its UTF-8 as bytes", () => {
  expect(tokenText(24_912)).toEqual({ token: "hello", bytes: [104, 101, 108, 108, 111] });
});

test("tokens that share a character have its bytes between them", () => {
  const text = "👩‍🚀 देवनागरी";
  const tokens = o200kHarmony()
    .encode(text)
    .map((id) => tokenText(id));
  expect(tokens.some(({ token }) => token.includes("\uFFFD"))).toBe(true);
  const bytes = Uint8Array.from(tokens.flatMap((token) => token.bytes));
  expect(new TextDecoder().decode(bytes)).toBe(text);
});

test("a control token among the alternatives has the bytes of its name", () => {
  const { token, bytes } = tokenText(SPECIAL_TOKENS["<|return|>"]);
  expect(token).toBe("<|return|>");
  expect(new TextDecoder().decode(Uint8Array.from(bytes))).toBe(token);
});

test("an id outside the vocabulary has neither text nor bytes", () => {
  expect(tokenText(201_500)).toEqual({ token: "", bytes: [] });
});
