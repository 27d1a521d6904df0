import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  fromPlainJson,
  JsonSyntaxError,
  MAX_JSON_DEPTH,
  parseJson,
  toCompactJson,
} from "../../src/harmony/index.ts";
import { jsonValue } from "./json-arbitrary.ts";

/** The reference's spelling of a document: parsed, then serialized without spaces. */
const compact = (text: string) => toCompactJson(parseJson(text));

const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

describe("reading", () => {
  test("keeps keys in their order, also those that look like integers", () => {
    expect(parseJson('{"b":1,"10":2,"2":3,"a":4}')).toEqual(
      new Map([
        ["b", { number: "1" }],
        ["10", { number: "2" }],
        ["2", { number: "3" }],
        ["a", { number: "4" }],
      ]),
    );
    expect(compact('{"b":1,"10":2,"2":3,"a":4}')).toBe('{"b":1,"10":2,"2":3,"a":4}');
  });

  test("a repeated key keeps its first position and its last value", () => {
    expect(compact('{"a":1,"b":2,"a":3}')).toBe('{"a":3,"b":2}');
    expect(compact(String.raw`{"a":1,"b":2,"\u0061":3}`)).toBe('{"a":3,"b":2}');
  });

  test("a key may be the name of an inherited property", () => {
    expect(compact('{"__proto__":1,"constructor":2}')).toBe('{"__proto__":1,"constructor":2}');
  });

  test("skips white space of the four kinds in JSON", () => {
    expect(compact(' \t\r\n[ 1 ,\n{ "a" : null } , [ ] , { } ]\n')).toBe('[1,{"a":null},[],{}]');
  });

  test("reads escapes", () => {
    expect(parseJson(String.raw`"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude42"`)).toBe('"\\/\b\f\n\r\té🙂');
  });

  test.each([
    // Text, position of the error, and the reason.
    ["", 0, "nothing"],
    ["  ", 2, "only white space"],
    ["{", 1, "an open object"],
    ["[1", 2, "an open array"],
    ["[1,]", 3, "a comma with nothing behind it"],
    ['{"a":1,}', 7, "the same in an object"],
    ["{a:1}", 1, "a key without quotes"],
    ['{"a" 1}', 5, "no colon"],
    ["{1:2}", 1, "a number as key"],
    ["[1 2]", 3, "no comma"],
    ["1 2", 2, "a second document"],
    ["tru", 0, "an unfinished word"],
    ["nullx", 4, "a word too long"],
    ["NaN", 0, "not in JSON"],
    ["01", 0, "a leading zero"],
    ["-", 0, "a sign alone"],
    ["+1", 0, "a plus sign"],
    ["1.", 1, "a point without digits"],
    [".5", 0, "a point in front"],
    ["1e", 1, "an exponent without digits"],
    ["0x10", 1, "hexadecimal"],
    ["1e309", 0, "out of range"],
    ["[-1e309]", 1, "out of range, negative"],
    ["9".repeat(310), 0, "out of range without exponent"],
    ["1e99999999999", 0, "an exponent that fits no integer"],
    ['"a', 0, "an unfinished string"],
    ['"a\\', 0, "an unfinished escape"],
    ['"\n"', 1, "a line break in a string"],
    [String.raw`"\x"`, 0, "an unknown escape"],
    [String.raw`"\u12g4"`, 0, "an escape without its digits"],
    [String.raw`"\ud800"`, 0, "half a surrogate pair"],
    ["'a'", 0, "single quotes"],
    ["\u00a0 1", 0, "white space JSON does not know"],
    ["\ufeff1", 0, "a byte order mark"],
    ["[1]//", 3, "a comment"],
  ])("refuses %j at %i: %s", (text, position) => {
    let thrown: unknown;
    try {
      parseJson(text);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(JsonSyntaxError);
    expect(thrown).toBeInstanceOf(SyntaxError);
    expect(thrown).toMatchObject({ name: "JsonSyntaxError", position });
    expect(String(thrown)).toContain(` at position ${position}`);
  });

  test("nesting beyond the limit is an error, not a stack overflow", () => {
    expect(compact(nested(MAX_JSON_DEPTH))).toBe(nested(MAX_JSON_DEPTH));
    expect(() => parseJson(nested(MAX_JSON_DEPTH + 1))).toThrow(JsonSyntaxError);
    expect(() => parseJson("[".repeat(1_000_000))).toThrow(
      "Nested deeper than 127 at position 127",
    );
    expect(() => parseJson('{"a":'.repeat(1_000_000))).toThrow(JsonSyntaxError);
    // Depth is the nesting at one position, not the number of all arrays.
    expect(compact(`[${"[],".repeat(999)}{}]`)).toHaveLength(3001);
  });

  test("reads everything that JSON.parse reads, to the same value", () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        const text = JSON.stringify(value);
        expect(JSON.parse(compact(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  test("rejects everything that JSON.parse rejects", () => {
    const fragment = fc.constantFrom(
      ..."{}[]:,\"\\ \n0123-+.eEtruefalsn/u'".split(""),
      "null",
      "true",
    );
    fc.assert(
      fc.property(fc.array(fragment, { maxLength: 12 }), (fragments) => {
        const text = fragments.join("");
        let valid = true;
        try {
          JSON.parse(text);
        } catch {
          valid = false;
        }
        fc.pre(!valid);
        expect(() => parseJson(text)).toThrow(JsonSyntaxError);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("numbers, as the reference reads and prints them", () => {
  test.each([
    ["0", "0"],
    ["-0", "-0.0"],
    ["0.0", "0.0"],
    ["-0.0", "-0.0"],
    ["0e5", "0.0"],
    ["-0e-999999999999", "-0.0"],
    ["0e999999999999", "0.0"],
    ["7", "7"],
    ["-12", "-12"],
    ["1.0", "1.0"],
    ["1.50", "1.5"],
    ["100.0", "100.0"],
    ["1e2", "100.0"],
    ["1E+2", "100.0"],
    ["18446744073709551615", "18446744073709551615"],
    ["18446744073709551616", "1.8446744073709552e19"],
    ["-9223372036854775808", "-9223372036854775808"],
    ["-9223372036854775809", "-9.223372036854776e18"],
    ["1e15", "1000000000000000.0"],
    ["1e16", "1e16"],
    ["123456789012345.5", "123456789012345.5"],
    ["0.0001", "0.0001"],
    ["0.00001", "0.00001"],
    ["0.000001", "1e-6"],
    ["1e-7", "1e-7"],
    ["123e15", "1.23e17"],
    ["1e300", "1e300"],
    ["1.7976931348623157e308", "1.7976931348623157e308"],
    ["5e-324", "5e-324"],
    ["1e-400", "0.0"],
    ["-1e-400", "-0.0"],
    [`0.${"0".repeat(400)}1e401`, "1.0"],
    [`1${"0".repeat(400)}e-400`, "1.0"],
  ])("%s is printed %s", (text, printed) => {
    expect(compact(text)).toBe(printed);
  });

  test("up to fifteen digits the reading is exact", () => {
    const digits = fc.tuple(
      fc.integer({ min: -999_999_999_999_999, max: 999_999_999_999_999 }),
      fc.integer({ min: -22, max: 22 }),
    );
    fc.assert(
      fc.property(digits, ([significand, exponent]) => {
        const text = `${significand}e${exponent}`;
        expect(Number(compact(text))).toBe(Number(text));
      }),
    );
  });

  test("with more digits it differs in the last place only", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true, min: 1e-280 }), (value) => {
        const read = Number(compact(JSON.stringify(value)));
        expect(Math.abs(read - value)).toBeLessThanOrEqual(value * 2 * Number.EPSILON);
      }),
    );
  });

  test("printed numbers of up to fifteen digits are read as the same text", () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e13, max: 1e13 }), fc.nat(12), (whole, decimals) => {
        const printed = compact(`${whole}e-${decimals}`);
        expect(compact(printed)).toBe(printed);
      }),
    );
  });

  test("an added point and zero can exceed the digits that are read exactly", () => {
    expect(compact("1858502730504531")).toBe("1858502730504531");
    expect(compact("1858502730504531e0")).toBe("1858502730504531.0");
    expect(compact("1858502730504531.0")).toBe("1858502730504531.2");
  });

  test("text that is not a number cannot be printed", () => {
    expect(() => toCompactJson({ number: "1_000" })).toThrow(SyntaxError);
  });

  test("a million digits take no noticeable time", () => {
    expect(compact(`0.${"0".repeat(1_000_000)}1`)).toBe("0.0");
    expect(compact(`0.${"3".repeat(1_000_000)}`)).toBe(
      // One unit up, because 19 digits are taken: see the top of json-number.ts.
      "0.33333333333333337",
    );
  });
});

describe("writing", () => {
  test("strings escape only what they must", () => {
    expect(toCompactJson('"\\/\b\f\n\r\t\u0000\u001f\u007fé\u2028🙂')).toBe(
      '"\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\u007fé\u2028🙂"',
    );
  });
});

describe("from plain values", () => {
  test("as JSON.stringify would write them", () => {
    const value = { a: [1, -0, 1.5, 1e21, true, null, undefined, "x"], b: undefined, c: { d: {} } };
    expect(toCompactJson(fromPlainJson(value))).toBe(
      '{"a":[1,0,1.5,1e21,true,null,null,"x"],"c":{"d":{}}}',
    );
  });

  test("rejects values without a JSON form", () => {
    expect(() => fromPlainJson(undefined)).toThrow(new TypeError("A undefined has no JSON form"));
    expect(() => fromPlainJson(() => 1)).toThrow(TypeError);
    expect(() => fromPlainJson(1n)).toThrow(TypeError);
  });
});
