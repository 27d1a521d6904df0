import { array, assert, boolean, constantFrom, property } from "fast-check";
import { expect, test } from "vitest";
import type { ReplyOptions } from "../../../src/api/chat-completions/reply.ts";
import { createChunkWriter } from "../../../src/api/chat-completions/to-chunks.ts";
import { createFrameHints } from "../../../src/api/sse.ts";
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
  errorCodes: "strings",
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
        const hints = createFrameHints();
        const writer = createChunkWriter({ ...OPTIONS, model, mirrorReasoning }, 0, hints);
        for (const each of events.flat()) {
          const frame = writer.push(each);
          if (hints.asciiLength === 0) continue;
          expect(Buffer.byteLength(frame)).toBe(hints.asciiLength);
          expect(frame.length).toBe(hints.asciiLength);
          told.push(frame);
        }
      },
    ),
  );
  expect(told.length).toBeGreaterThan(0);
});

test("a frame of one word is the same as if its text were serialised with the rest", () => {
  const writer = createChunkWriter(OPTIONS, 0, createFrameHints());
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
