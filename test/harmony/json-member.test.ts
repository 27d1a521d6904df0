import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { memberText } from "../../src/harmony/index.ts";
import { jsonValue, memberName } from "./json-arbitrary.ts";

describe("the raw text of a member", () => {
  test.each([
    // Document, path, text of the value.
    ['{"tools":[1.0, 2]}', ["tools"], "[1.0, 2]"],
    ['\n{ "a" : 1 , "tools" : [ ] }\n', ["tools"], "[ ]"],
    ['{"a":"x","b":2}', ["a"], '"x"'],
    ['{"a":1e5}', ["a"], "1e5"],
    ['{"a":-0 }', ["a"], "-0"],
    ['{"a":true,"b":null}', ["b"], "null"],
    ['{"a":{"b":{"c":[{}]}}}', ["a", "b", "c"], "[{}]"],
    ['{"a":{"b":1},"b":2}', ["b"], "2"],
    ['{"a":1}', [], '{"a":1}'],
    // The last of several members of one name counts, as in JSON.parse.
    ['{"a":1,"a":2}', ["a"], "2"],
    ['{"a":{"b":1},"a":{"c":2}}', ["a", "b"], undefined],
    // Names are compared unescaped.
    [String.raw`{"\u0074ools":1}`, ["tools"], "1"],
    [String.raw`{"tools":1,"t\u006fols":2}`, ["tools"], "2"],
    [String.raw`{"a\"b":1}`, ['a"b'], "1"],
    [String.raw`{"a\\":1,"b":2}`, ["b"], "2"],
    // Brackets inside strings are not structure.
    [String.raw`{"m":"\"tools\":[0]","tools":[1]}`, ["tools"], "[1]"],
    [String.raw`{"m":"\\","tools":1}`, ["tools"], "1"],
    [String.raw`{"m":"\\\"","tools":1}`, ["tools"], "1"],
    ['{"m":["}",{"x":"]"}],"tools":1}', ["tools"], "1"],
    ['{"":{"":3}}', ["", ""], "3"],
    // No such member.
    ["{}", ["a"], undefined],
    ['{"a":1}', ["b"], undefined],
    ['{"a":1}', ["a", "b"], undefined],
    ['{"a":[{"b":1}]}', ["a", "b"], undefined],
    ["[1]", ["0"], undefined],
    ["null", ["a"], undefined],
    ['"a"', ["a"], undefined],
  ])("%s at %j is %j", (json, path, text) => {
    expect(memberText(json, ...path)).toBe(text);
  });

  test("is what JSON.parse finds there", () => {
    const space = fc.constantFrom(undefined, 1, "\t");
    fc.assert(
      fc.property(
        fc.dictionary(memberName, jsonValue),
        memberName,
        space,
        (document, key, indent) => {
          const text = memberText(JSON.stringify(document, null, indent), key);
          const expected: unknown = Object.hasOwn(document, key)
            ? JSON.parse(JSON.stringify(document[key]) ?? "null")
            : undefined;
          expect(text === undefined ? undefined : JSON.parse(text)).toEqual(expected);
        },
      ),
      { numRuns: 500 },
    );
  });

  test("text that is not JSON neither throws nor hangs", () => {
    const fragment = fc.constantFrom(...'{}[]:,"\\ a1'.split(""), '"a":', '{"a":');
    fc.assert(
      fc.property(fc.array(fragment, { maxLength: 20 }), (fragments) => {
        const text = memberText(fragments.join(""), "a", "a");
        expect(["string", "undefined"]).toContain(typeof text);
      }),
      { numRuns: 1000 },
    );
  });

  test("megabytes of messages are skipped, including quotes and backslashes", () => {
    const messages = [String.raw`\"`.repeat(500_000), "\\".repeat(500_000), "x".repeat(2_000_000)];
    const body = JSON.stringify({ messages, tools: [1] });
    expect(memberText(body, "tools")).toBe("[1]");
  });
});
