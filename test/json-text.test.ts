import * as fc from "fast-check";
import { expect, test } from "vitest";
import { hasMoreValues, jsonPieces, JsonText, PIECE, toJson } from "../src/json-text.ts";

test("a value is written in pieces as it is as a whole", () => {
  const value = fc.object({ withNullPrototype: false });
  fc.assert(
    fc.property(value, (each) => {
      expect(toJson(each)).toBe(JSON.stringify(each));
    }),
  );
  const long = `${"a".repeat(PIECE - 1)}\u{1f600}"\ud800${"\n".repeat(3 * PIECE)}`;
  const texts = [
    long,
    [long, new JsonText('{"b":[1]}')],
    { c: undefined, d: long, e: [undefined] },
  ];
  expect(toJson(texts)).toBe(JSON.stringify(texts));
  expect([...jsonPieces(long)].length).toBeGreaterThan(4);
});

test("a text with as many values as allowed has no more of them, however it is written", () => {
  const never = fc.property(fc.jsonValue(), fc.nat(3), (value, indent) => {
    const text = JSON.stringify(value, undefined, indent);
    let values = 0;
    JSON.parse(text, () => values++);
    const counting = hasMoreValues(text, values);
    let step = counting.next();
    while (!step.done) step = counting.next();
    expect(step.value).toBe(false);
  });
  fc.assert(never, { seed: 20_261_126, numRuns: 2000 });
});
