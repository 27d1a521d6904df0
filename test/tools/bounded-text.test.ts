import { expect, test } from "vitest";
import { BoundedText, boundText } from "../../src/tools/bounded-text.ts";

test("keeps text up to the limit as it is", () => {
  expect(boundText("ab", 2)).toBe("ab");
  expect(boundText("", 2)).toBe("");
});

test("keeps head and tail and says how much is missing between them", () => {
  expect(boundText("abcdefghij", 4)).toBe("ab\n[… 6 characters omitted …]\nij");
});

test("returns the same however the text arrives", () => {
  const text = Array.from({ length: 5000 }, (_, index) => `${index} `).join("");
  const bounded = new BoundedText(100);
  for (const character of text) bounded.push(character);
  expect(bounded.toString()).toBe(boundText(text, 100));
  expect(bounded.length).toBe(text.length);
});

test("does not split characters", () => {
  expect(boundText("😀😀😀😀", 6)).toBe("😀\n[… 4 characters omitted …]\n😀");
});
