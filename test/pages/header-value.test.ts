import { expect, test } from "vitest";
import { isHeaderValue } from "../../web/shared/header-value.ts";

test.each([
  ["", true],
  ["hg-4f_~!", true],
  ["schlüssel", true],
  ["“quoted”", false],
  ["ключ", false],
  ["two\nlines", false],
])("%j can be sent in a header: %s", (text, is) => {
  expect([isHeaderValue(text), canSet(text)]).toEqual([is, is]);
});

function canSet(text: string): boolean {
  try {
    new Headers().set("authorization", text);
    return true;
  } catch {
    return false;
  }
}
