import { assert, jsonValue, property } from "fast-check";
import { expect, test } from "vitest";
import { toMarkedBody } from "../../web/inspect/request-body.ts";

const NONE = { thoughts: [], kinds: [] };

test("without anything unused, the body is as JSON.stringify would write it", () => {
  assert(
    property(jsonValue(), (value) => {
      const { pieces } = toMarkedBody(JSON.stringify(value), NONE);
      const expected = JSON.stringify(JSON.parse(JSON.stringify(value)), undefined, 2);
      expect(pieces.map(({ text }) => text).join("")).toBe(expected);
    }),
    { seed: 7 },
  );
});

const LEFT = "left out";

test("marks change nothing of the text, and stand at what was left out, in its order", () => {
  const body = {
    messages: [
      { role: "user", content: "same" },
      {
        role: "assistant",
        reasoning: "same",
        reasoning_details: [{ type: "reasoning.text", text: "same" }],
        content: "same",
      },
      { role: "assistant", content: [{ type: "thinking", thinking: "other", signature: "c2ln" }] },
      { role: "assistant", reasoning_content: "same" },
    ],
    tools: [{ type: "image_generation", size: "large" }, { type: "function" }],
  };
  const thoughts = [
    { text: "same", why: LEFT },
    { text: "encrypted", why: LEFT },
    { text: "other", why: LEFT },
    // Kept, though it has the words of one that was left out.
    { text: "same", why: undefined },
  ];
  const kinds = ["image_generation", "local_shell"].map((kind) => ({ kind, why: "no" }));
  const { pieces, missing } = toMarkedBody(JSON.stringify(body), { thoughts, kinds });
  expect(pieces.map(({ text }) => text).join("")).toBe(JSON.stringify(body, undefined, 2));
  const marked = pieces.flatMap(({ text, why }, index) =>
    why === undefined
      ? []
      : `${pieces[index - 1]?.text.match(/"\w+": $/)?.[0] ?? ""}${text} ${why}`,
  );
  expect(marked).toEqual([
    '"reasoning": "same" left out',
    '"text": "same" left out',
    '"thinking": "other" left out',
    '{\n      "type": "image_generation",\n      "size": "large"\n    } no',
  ]);
  expect(missing).toEqual({ thoughts: [thoughts[1]], kinds: [kinds[1]] });
});

test("a body that is no JSON, or nested without end, is refused", () => {
  expect(() => toMarkedBody("{", NONE)).toThrow(SyntaxError);
  const depth = 200_000;
  expect(() => toMarkedBody("[".repeat(depth) + "]".repeat(depth), NONE)).toThrow(RangeError);
});
