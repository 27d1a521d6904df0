import { expect, test } from "vitest";
import { JsonSyntaxError, parseJson } from "../../src/harmony/index.ts";

test.each([
  ["", "Unexpected end at position 0"],
  ["{]", 'Unexpected "]" at position 1'],
  ['"a', "Unfinished string at position 0"],
  ['"a\nb"', "Control character in a string at position 2"],
  ['"\\x"', "Bad escape in a string at position 0"],
  ['"\\ud800"', "Half a surrogate pair at position 0"],
  ["1e999", "Number out of range at position 0"],
  ["[".repeat(200), "Nested deeper than 127 at position 127"],
])("%j", (text, message) => {
  let said: unknown;
  try {
    parseJson(text);
  } catch (error) {
    said = error;
  }
  expect(said).toBeInstanceOf(JsonSyntaxError);
  expect(said).toHaveProperty("message", message);
});
