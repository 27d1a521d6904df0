/** Steps in their stored form: texts that are read back, and texts that are refused. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { readStoredStep, toStoredStep } from "../../src/store/stored-step.ts";
import { o200kHarmony } from "../../src/tokenizer/index.ts";

const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const mark = fc.record({ length: fc.nat(), low: int32, high: int32 });
const step = fc.record({
  start: mark,
  end: mark,
  spans: fc.array(
    fc.record({ at: fc.nat(100_000), ids: fc.array(fc.nat(201_087), { maxLength: 50 }) }),
  ),
  isText: fc.boolean(),
});

test("a step is read as it was stored", () => {
  fc.assert(
    fc.property(step, (each) => {
      expect(readStoredStep(toStoredStep(each))).toEqual(each);
    }),
  );
});

test("a token takes three characters", () => {
  const ids = o200kHarmony().encode(
    "The tide comes and goes, and the harbour keeps its count. ".repeat(40),
  );
  const zero = { length: 0, low: 0, high: 0 };
  const stored = toStoredStep({ start: zero, end: zero, spans: [{ at: 0, ids }], isText: false });
  expect(stored.length).toBe(1 + 9 * 6 + 3 * ids.length);
});

test("no text makes the reader throw, and each span has the stated number of ids", () => {
  const damaged = fc.tuple(step, fc.nat(), fc.string({ maxLength: 3 })).map(([each, at, text]) => {
    const stored = toStoredStep(each);
    const place = at % (stored.length + 1);
    return stored.slice(0, place) + text + stored.slice(place + text.length);
  });
  fc.assert(
    fc.property(
      fc.oneof(
        damaged,
        fc.string(),
        fc.base64String().map((text) => `2${text}`),
      ),
      (text) => {
        const read = readStoredStep(text);
        const spans = typeof read === "string" ? [] : read.spans;
        for (const { ids } of spans) expect(ids.every((id) => id >= 0)).toBe(true);
      },
    ),
  );
});

const ZEROS = `2${"A".repeat(7 * 6)}`;

test.each([
  "",
  "2",
  "2AAAA",
  "2%%%%",
  ZEROS.slice(0, -1),
  `${ZEROS}A`,
  `${ZEROS}${"A".repeat(11)}B`,
  `${ZEROS}${"A".repeat(6)}______AAA`,
])("%j is no step", (stored) => {
  expect(readStoredStep(stored)).toBe("damaged");
});

test("a step without messages is one", () => {
  expect(readStoredStep(ZEROS)).toMatchObject({ spans: [], isText: false });
});

test.each(["1AAAA", "3AAAA"])("%j is of another version", (stored) => {
  expect(readStoredStep(stored)).toBe("other-version");
});
