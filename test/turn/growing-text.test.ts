import { expect, test } from "vitest";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import { GrowingText } from "../../src/turn/growing-text.ts";

const ids = (text: string) => o200kHarmony().encode(text);

test("texts and the texts of ids are joined in their order, however often they are read", () => {
  const text = new GrowingText();
  expect(text.isEmpty).toBe(true);
  text.pushIds(ids("Hello there"));
  expect(text.isEmpty).toBe(false);
  expect(text.toString()).toBe("Hello there");
  text.push(", you");
  text.push("");
  text.pushIds(ids(" and 日本"));
  expect(text.toString()).toBe("Hello there, you and 日本");
  expect(text.toString()).toBe("Hello there, you and 日本");
  text.clear();
  expect(text.toString()).toBe("");
});
