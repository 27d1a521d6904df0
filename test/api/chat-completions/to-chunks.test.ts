import { array, assert, boolean, constantFrom, property } from "fast-check";
import { expect, test } from "vitest";
import type { ReplyOptions } from "../../../src/api/chat-completions/reply.ts";
import { createChunkWriter } from "../../../src/api/chat-completions/to-chunks.ts";
import type { FrameHints } from "../../../src/api/sse.ts";
import type { EventForm } from "../../../src/telemetry/record/event-form.ts";
import type { TurnEvent } from "../../../src/turn/turn.ts";

const OPTIONS: ReplyOptions = {
  id: "gen-1",
  created: 1,
  model: "gpt-oss",
  provider: "vllm",
  reasoning: "text",
  mirrorReasoning: false,
  legacyFunctions: false,
  customTools: new Set(),
  usageWithoutChoices: false,
  logprobs: false,
};

type Kind = "reasoning" | "preamble" | "content" | "tool-call";

const CALL = { id: "call_1", name: "zählen" };

const part = (kind: Kind): TurnEvent[] => [
  { type: "part-end" },
  { type: "part-start", part: kind === "tool-call" ? { kind, ...CALL } : { kind } },
];
const text = constantFrom(" word", "zwölf", '"', "\n", "中", "", "a".repeat(100));
const event = text.map((each): TurnEvent => ({ type: "part-delta", text: each }));
const opening = constantFrom<Kind[]>("reasoning", "preamble", "content", "tool-call");

test("only frames whose characters are all ASCII are told to be", () => {
  const told: string[] = [];
  assert(
    property(
      array(opening.chain((kind) => array(event).map((deltas) => [...part(kind), ...deltas]))),
      constantFrom("gpt-oss", "größer"),
      boolean(),
      (events, model, mirrorReasoning) => {
        const hints: FrameHints = { isLast: false };
        const writer = createChunkWriter({ ...OPTIONS, model, mirrorReasoning }, 0, hints);
        for (const each of events.flat()) {
          writer.push(each);
          const { asciiFrame = "" } = hints;
          expect(Buffer.byteLength(asciiFrame)).toBe(asciiFrame.length);
          if (asciiFrame !== "") told.push(asciiFrame);
        }
      },
    ),
  );
  expect(told.length).toBeGreaterThan(0);
});

test("a frame of one word is the same as if its text were serialised with the rest", () => {
  const writer = createChunkWriter(OPTIONS, 0, { isLast: false });
  const frames = [
    ...part("reasoning"),
    ...[" one", " two", 'th"ree'].map((each): TurnEvent => ({ type: "part-delta", text: each })),
  ].map((each) => writer.push(each));
  const deltas = frames
    .filter((frame) => frame !== "")
    .map((frame) => JSON.parse(frame.slice("data: ".length)).choices[0].delta);
  const detail = { type: "reasoning.text", index: 0 };
  expect(deltas).toEqual([
    {
      role: "assistant",
      content: "",
      reasoning: " one",
      reasoning_details: [{ ...detail, text: " one", format: "unknown" }],
    },
    { content: "", reasoning: " two", reasoning_details: [{ ...detail, text: " two" }] },
    { content: "", reasoning: 'th"ree', reasoning_details: [{ ...detail, text: 'th"ree' }] },
  ]);
});

test("of each frame that only adds text to the open part, the watcher is told what it is made of", () => {
  const made: { form: number; json: string; frameLength: number }[] = [];
  const forms: EventForm[] = [];
  const hints: FrameHints = {
    isLast: false,
    watcher: {
      row: 7,
      noteEvents() {},
      noteWaiting() {},
      journal: {
        noteMade(_row, form, _text, json, frameLength) {
          if (form !== 0) made.push({ form, json, frameLength });
          return form !== 0;
        },
        noteWritten: () => true,
      },
      noteForm(form, _text, json, frameLength) {
        made.push({ form: forms.push(form), json, frameLength });
        return forms.length;
      },
    },
  };
  const writer = createChunkWriter(OPTIONS, 0, hints);
  const texts = (...list: string[]) =>
    list.map((each): TurnEvent => ({ type: "part-delta", text: each }));
  const events = [
    ...part("reasoning"),
    // The first frame also has the role.
    ...texts("I", " think", "…"),
    ...part("content"),
    ...texts("It", " is"),
    ...part("tool-call"),
    ...texts('{"city', '":"Köln"}'),
  ];
  const frames = events.map((each) => writer.push(each)).filter((frame) => frame !== "");
  const ofText = frames.filter((frame) => !/"role"|"name"/.test(frame));
  expect(ofText).toHaveLength(6);
  expect(made.map(({ form, json }, index) => forms[form - 1]?.toEvent(json, index))).toEqual(
    ofText,
  );
  expect(made.map(({ frameLength }) => frameLength)).toEqual(ofText.map(({ length }) => length));
  expect(forms).toHaveLength(3);
});
