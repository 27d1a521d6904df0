/** The ids of one message, as they come from a store. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { readSpan } from "../../src/harmony/read-span.ts";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import { spelledIds } from "../helpers/spelled.ts";

const SPAN = spelledIds(
  "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>",
);

const read = (text: string) => readSpan(spelledIds(text), o200kHarmony());

test("a span is one message of the assistant, in the pieces of its ids", () => {
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
])("a span is refused: %s", (text) => {
  expect(read(text)).toBeUndefined();
});

test.each([-1, 1.5, 199_998, 201_088, 2 ** 31, Number.NaN])(
  "a span is refused with the id %d in it",
  (id) => {
    const ids = [...SPAN.slice(0, -1), id, ...SPAN.slice(-1)];
    expect(readSpan(ids, o200kHarmony())).toBeUndefined();
  },
);

test("a span is refused unless it is one message of the assistant", () => {
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
