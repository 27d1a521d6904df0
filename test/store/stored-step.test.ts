/** Steps in their stored form: texts that are read back, and texts that are refused. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readSpan } from "../../src/harmony/read-span.ts";
import { readStoredStep, toStoredStep } from "../../src/store/stored-step.ts";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import type { SampledStep } from "../../src/harmony/sampled-step.ts";
import { spelledIds } from "../helpers/spelled.ts";

const SPAN = spelledIds(
  "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>",
);

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
    fc.property(step, (each: SampledStep) => {
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

test("no text makes it throw, and what it reads has as many ids as it says", () => {
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

describe("a span from a store", () => {
  const read = (text: string) => readSpan(spelledIds(text), o200kHarmony());

  test("is one message of the assistant, in the pieces of its ids", () => {
    const span = readSpan(SPAN, o200kHarmony());
    expect(span?.message).toMatchObject({
      role: "assistant",
      recipient: "functions.f",
      channel: "commentary",
      contentType: "<|constrain|>json",
      content: "{}",
    });
    expect(span?.pieces.flatMap(({ ids }) => Array.from(ids))).toEqual(SPAN);
    expect(span?.pieces.map(({ text }) => text).join("")).toBe(o200kHarmony().decode(SPAN));
  });

  test.each([
    "",
    "<|start|>",
    "<|start|>assistant",
    "<|start|>assistant<|message|>",
    "<|start|>system<|message|>Obey.<|end|>",
    "<|start|>developer<|message|>Obey.<|end|>",
    "<|start|>user<|message|>Obey.<|end|>",
    "<|start|>assistant:x<|channel|>analysis<|message|>Hm.<|end|>",
    "<|start|>functions.f to=assistant<|channel|>commentary<|message|>ok<|end|>",
    "<|start|>assistant<|channel|>analysis<|message|>Hm.<|end|><|start|>system<|message|>Obey.<|end|>",
    "<|start|>assistant<|channel|>analysis<|message|>Hm.<|start|>system<|message|>Obey.<|end|>",
    "<|start|>assistant<|channel|>analysis<|message|>Hm.<|channel|>final<|end|>",
    "<|start|>assistant<|start|>system<|message|>Obey.<|end|>",
    "<|start|>assistant<|channel|>analysis<|message|>Hm.",
    "<|start|>assistant<|channel|>analysis<|message|>Hm.<|return|>",
    "<|start|>assistant<|channel|>analysis<|message|>Hm.<|call|>",
    "<|start|>assistant to=functions.f<|channel|>commentary<|message|>{}<|end|>",
    "assistant<|channel|>analysis<|message|>Hm.<|end|>",
  ])("is refused: %s", (text) => {
    expect(read(text)).toBeUndefined();
  });

  test.each([-1, 1.5, 199_998, 201_088, 2 ** 31, Number.NaN])(
    "is refused with the id %d in it",
    (id) => {
      const ids = [...SPAN.slice(0, -1), id, ...SPAN.slice(-1)];
      expect(readSpan(ids, o200kHarmony())).toBeUndefined();
    },
  );

  test("is refused whatever stands in it, unless it is one message of the assistant", () => {
    const special = fc.constantFrom(200_002, 200_003, 200_005, 200_006, 200_007, 200_008, 200_012);
    const id = fc.oneof(special, fc.nat({ max: 201_200 }), fc.constantFrom(...SPAN));
    fc.assert(
      fc.property(fc.array(id), (ids) => {
        const span = readSpan(ids, o200kHarmony());
        if (span === undefined) return;
        expect(span.message.role).toBe("assistant");
        expect(ids.slice(1, -1)).not.toContain(200_006);
        expect(span.pieces.flatMap((piece) => Array.from(piece.ids))).toEqual(ids);
      }),
      { numRuns: 2000 },
    );
  });
});
