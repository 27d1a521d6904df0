import { describe, expect, test } from "vitest";
import { ArgumentsFilter } from "../../src/harmony/arguments.ts";

function filtered(pushes: readonly string[]): string[] {
  const filter = new ArgumentsFilter();
  return pushes.map((text) => filter.push(text));
}

describe("text that is emitted at once", () => {
  test.each([
    ["an object", ['{"a', '":1', "}"], ['{"a', '":1', "}"]],
    ["white space before it is left out", [" \n", ' {"a":1}'], ["", '{"a":1}']],
    ["white space waits for what follows", ['{"a": ', " 1", " }"], ['{"a":', "  1", " }"]],
    ["white space at the end never comes", ['{"a":1}', " \n"], ['{"a":1}', ""]],
    ["brackets behind an object never come", ['{"a":1}', "]", " }"], ['{"a":1}', "", ""]],
    ["unless something else follows", ['{"a":1}', "]", " }x"], ['{"a":1}', "", "] }x"]],
    ["two objects", ['{"a":1}', '{"b":2}'], ['{"a":1}', '{"b":2}']],
    ["brackets in a string are text", ['{"a":"}', '}"}'], ['{"a":"}', '}"}']],
    ["a quote that is escaped ends no string", ['{"a":"\\', '"}', '"}}'], ['{"a":"\\', '"}', '"}']],
    ["an array keeps its brackets", ["[1]", "]"], ["[1]", "]"]],
    ["so does an object whose brackets do not match", ['{"a":[1}', "}]"], ['{"a":[1}', "}]"]],
    ["code is passed on", ["x = 1\n", "print(x)\n"], ["x = 1", "\nprint(x)"]],
  ])("%s", (_, pushes, given) => {
    expect(filtered(pushes)).toEqual(given);
  });
});

test("reports whether the object is complete", () => {
  const filter = new ArgumentsFilter();
  const states = ["", ' {"a":', "[]", "}", "]", "x"].map((text) => {
    filter.push(text);
    return [filter.isEmpty, filter.isComplete, filter.hasExtraBrackets];
  });
  expect(states).toEqual([
    [true, false, false],
    [false, false, false],
    [false, false, false],
    [false, true, false],
    [false, true, true],
    [false, false, false],
  ]);
});

describe("limits of what is held back", () => {
  test("a long run of white space is emitted", () => {
    const filter = new ArgumentsFilter();
    filter.push("x");
    const given = Array.from({ length: 5000 }, () => filter.push(" ")).join("");
    expect(given).toBe(" ".repeat(5000));
    expect(filter.push("y ")).toBe("y");
  });

  test("many brackets after an object are emitted, and the object is incomplete", () => {
    const filter = new ArgumentsFilter();
    filter.push("{}");
    const given = Array.from({ length: 5000 }, () => filter.push("}")).join("");
    expect([given, filter.isComplete]).toEqual(["}".repeat(5000), false]);
  });

  test("nesting is followed to a thousand levels, and ignored beyond", () => {
    const [within, beyond] = [999, 1000].map((depth) => {
      const json = `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`;
      const [given = "", extra = ""] = filtered([json, "}"]);
      return [given === json, extra];
    });
    expect([within, beyond]).toEqual([
      [true, ""],
      [true, "}"],
    ]);
  });
});
