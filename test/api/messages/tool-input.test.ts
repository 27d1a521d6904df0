import {
  assert,
  constantFrom,
  dictionary,
  jsonValue,
  nat,
  oneof,
  property,
  string,
} from "fast-check";
import { describe, expect, test } from "vitest";
import { ToolInput } from "../../../src/api/messages/tool-input.ts";

/** The output for arguments that arrive in these pieces. */
function written(...pieces: readonly string[]): string {
  const input = new ToolInput();
  return pieces.map((piece) => input.push(piece)).join("") + input.end();
}

describe("arguments as an object", () => {
  test.each([
    [
      "an object",
      '{"a": [1, -2.5e3, true, null], "b": {"c": "d"}}',
      '{"a":[1,-2.5e3,true,null],"b":{"c":"d"}}',
    ],
    ["an empty one", " {} ", "{}"],
    ["an array", "[1]", ""],
    ["no JSON", "go on", ""],
    ["nothing", "", ""],
    ["cut in a string", '{"a":"Ro', '{"a":"Ro"}'],
    ["cut in an escape", String.raw`{"a":"x\u00`, '{"a":"x"}'],
    ["cut in a key", '{"a":1,"b', '{"a":1}'],
    ["cut behind a key", '{"a":1,"b":', '{"a":1}'],
    ["cut in a word", '{"a":tru', "{}"],
    ["cut in a number", '{"a":-', "{}"],
    ["without its last bracket", '{"a":{"b":12', '{"a":{"b":12}}'],
    ["a comma too many", '{"a":[1,],"b":2}', '{"a":[1]}'],
    ["text behind it", '{"a":1} and more', '{"a":1}'],
    ["a line break in a string", '{"a":"one\ntwo"}', String.raw`{"a":"one\ntwo"}`],
    [
      "a pattern without doubled backslashes",
      String.raw`{"a":"\d+\.\w"}`,
      String.raw`{"a":"\\d+\\.\\w"}`,
    ],
    ["an escape that breaks off", String.raw`{"a":"\u12"}`, String.raw`{"a":"\\u12"}`],
    ["words of another language", '{"a":True,"b":1}', "{}"],
    [
      "a number as it was spelled",
      '{"a":1.0,"b":12345678901234567890}',
      '{"a":1.0,"b":12345678901234567890}',
    ],
  ])("%s", (_, args, expected) => {
    expect(written(args)).toBe(expected);
  });

  test("are passed on unchanged, however they were split", () => {
    assert(
      property(dictionary(string(), jsonValue()), nat(), (value, cut) => {
        const args = JSON.stringify(value);
        const at = cut % (args.length + 1);
        expect(written(args.slice(0, at), args.slice(at))).toBe(args);
      }),
    );
  });

  test("form a valid object at any point, once closed", () => {
    const text = oneof(
      string({ unit: constantFrom(...Array.from('{}[]",:\\ntrue1.-eu0a \n')) }),
      dictionary(string(), jsonValue()).map((value) => JSON.stringify(value)),
    );
    assert(
      property(text, text, (first, second) => {
        const input = new ToolInput();
        const shown = input.push(first) + input.push(second);
        const whole = shown + input.end();
        expect(whole === "" || typeof JSON.parse(whole) === "object").toBe(true);
        expect(written(...(first + second).split(""))).toBe(whole);
      }),
      { numRuns: 2000 },
    );
  });
});
