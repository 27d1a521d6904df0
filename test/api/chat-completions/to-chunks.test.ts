import { expect, test } from "vitest";
import type { ReplyOptions } from "../../../src/api/chat-completions/reply.ts";
import { ChunkWriter } from "../../../src/api/chat-completions/to-chunks.ts";
import type { TurnEvent } from "../../../src/turn/turn.ts";

const OPTIONS: ReplyOptions = {
  id: "gen-1",
  created: 1,
  model: "gpt-oss",
  provider: "vllm",
  reasoning: "text",
  mirrorReasoning: false,
  detailsText: true,
  legacyFunctions: false,
  customTools: new Set(),
  usageWithoutChoices: false,
  logprobs: false,
  errorCodes: "strings",
};

const part = (kind: "reasoning"): TurnEvent[] => [
  { type: "part-end" },
  { type: "part-start", part: { kind } },
];

test("a frame that is put together is the same as if its text were serialised with the rest", () => {
  const writer = new ChunkWriter(OPTIONS, 0);
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
