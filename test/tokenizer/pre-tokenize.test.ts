import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createScanner } from "../../src/tokenizer/pre-tokenize.ts";
import { TextBytes } from "../../src/tokenizer/text-bytes.ts";
import { referencePretokens } from "./reference.ts";
import { timelessTexts } from "./texts.ts";

const { pretokenEnd, addUnicode } = createScanner();
addUnicode();

function pretokens(text: string): string[] {
  const bytes = new TextBytes(text.length);
  bytes.write(text);
  const found: string[] = [];
  for (let start = 0; start < bytes.length;) {
    const end = pretokenEnd(bytes, start);
    found.push(Buffer.from(bytes.bytes.subarray(start, end)).toString("utf8"));
    start = end;
  }
  return found;
}

test.each([
  {
    why: "a space leads the word behind it",
    of: "Hello big world",
    are: ["Hello", " big", " world"],
  },
  { why: "so does any one symbol", of: "(a)[b.c", are: ["(a", ")[", "b", ".c"] },
  { why: "of several spaces the last one", of: "a   b", are: ["a", "  ", " b"] },
  { why: "none in front of a number", of: "a  1", are: ["a", " ", " ", "1"] },
  { why: "spaces at the end stay together", of: "a   ", are: ["a", "   "] },
  { why: "white space up to the last newline", of: "a \n\n  b", are: ["a", " \n\n", " ", " b"] },
  { why: "symbols take newlines and slashes along", of: "};\n\n//x", are: ["};\n\n//", "x"] },
  { why: "numbers go by three", of: "1234567", are: ["123", "456", "7"] },
  {
    why: "upper case, then lower case",
    of: "HTTPServer fooBar",
    are: ["HTTPServer", " foo", "Bar"],
  },
  { why: "a title-case letter is upper case", of: "aǅb", are: ["a", "ǅb"] },
  { why: "contractions in any case", of: "I'm he'LL x'd", are: ["I'm", " he'LL", " x'd"] },
  { why: "the long s is an s there", of: "I'ſ", are: ["I'ſ"] },
  { why: "other apostrophes are symbols", of: "rock'n'roll", are: ["rock", "'n", "'roll"] },
  { why: "no contraction without a word", of: "1's 's", are: ["1", "'s", " '", "s"] },
  { why: "an uncased letter ends in front of capitals", of: "漢ABC", are: ["漢", "ABC"] },
  { why: "unless lower case follows", of: "漢ABCd", are: ["漢ABCd"] },
  { why: "a mark begins a word", of: "!\u0301a", are: ["!\u0301a"] },
  { why: "and stands among symbols", of: "!!\u0301!", are: ["!!\u0301!"] },
  { why: "U+0085 is white space", of: "a \u0085b", are: ["a", " ", "\u0085b"] },
  { why: "U+FEFF is a symbol", of: "a \uFEFF!", are: ["a", " \uFEFF!"] },
  { why: "new in Unicode 17: no letter yet", of: "a\uA7CEa", are: ["a", "\uA7CEa"] },
  { why: "a lone surrogate is U+FFFD", of: "a\uD800", are: ["a", "\uFFFD"] },
])("$why", ({ of, are }) => {
  expect(pretokens(of)).toEqual(are);
});

describe("compared with the pattern as a regular expression", () => {
  test("every text of up to four characters, one of each class", () => {
    const classes = ["a", "Z", "漢", "\u0301", "7", " ", "\t", "\n", "!", "/", "'s", "é", "Ж", "€"];
    let strings = [""];
    for (let length = 0; length < 4; length++) {
      strings = strings.flatMap((start) => classes.map((char) => start + char));
    }
    const wrong = strings.filter(
      (text) => pretokens(text).join("·") !== referencePretokens(text).join("·"),
    );
    expect(strings).toHaveLength(14 ** 4);
    expect(wrong).toEqual([]);
  });

  test("random texts", () => {
    fc.assert(
      fc.property(timelessTexts, (text) => {
        expect(pretokens(text)).toEqual(
          referencePretokens(text).map((pretoken) => pretoken.toWellFormed()),
        );
      }),
      { numRuns: 5000 },
    );
  });
});

test.each([
  ["spaces behind a newline", `\n${" ".repeat(10_000)}x`],
  ["newlines", "\n".repeat(10_000)],
  ["letters of one kind", "a".repeat(10_000)],
  ["an uncased letter and capitals", `漢${"A".repeat(10_000)}`],
  ["uncased letters and capitals in turn", "漢A".repeat(5000)],
  ["marks", "\u0301".repeat(5000)],
  ["symbols", "€".repeat(5000)],
  ["symbols and slashes", "!//".repeat(5000)],
  ["digits", "7".repeat(10_000)],
  ["apostrophes", "'".repeat(10_000)],
])("the scanner reads %s a few times, however many there are", (_, text) => {
  const plain = new TextBytes(text.length);
  plain.write(text);
  let reads = 0;
  const bytes = new Proxy(plain.bytes, {
    get(target, key) {
      reads++;
      return Reflect.get(target, key);
    },
  });
  const view = Object.assign(new DataView(plain.bytes.buffer), {
    getInt32(offset: number) {
      reads++;
      return plain.view.getInt32(offset, true);
    },
  });
  const counting = Object.assign(new TextBytes(0), { bytes, view });
  for (let start = 0; start < plain.length;) start = pretokenEnd(counting, start);
  expect(reads).toBeGreaterThan(plain.length / 4);
  expect(reads).toBeLessThan(plain.length * 8);
});
