/** Completions that others recorded are read without repair, and rendered again as the model sampled them. */
import { expect, test } from "vitest";
import { createRenderer, parseConversation } from "../../src/harmony/index.ts";
import { isSpecial, SPECIAL_TOKENS } from "../../src/tokenizer/index.ts";
import { readRecordings } from "../helpers/recordings.ts";
import { spelledIds } from "../helpers/spelled.ts";
import { readIds } from "./parse-cases.ts";

const recordings = readRecordings();
const START = spelledIds("<|start|>assistant");

test("there are completions of two sources, some of them cut", () => {
  expect(new Set(recordings.map(({ source }) => source)).size).toBe(2);
  expect(new Set(recordings.map(({ completion }) => isSpecial(completion.at(-1) ?? 0))).size).toBe(
    2,
  );
});

test.each(recordings)("$id is read without repair", ({ completion }) => {
  const isCut = !isSpecial(completion.at(-1) ?? 0);
  const { parts, recoveries, finish } = readIds(completion, isCut ? "length" : "stop");
  expect(recoveries).toEqual([]);
  expect(parts.map(({ type }) => type)).toEqual(isCut ? ["reasoning"] : ["reasoning", "content"]);
  expect(finish).toBe(isCut ? "length" : "stop");
});

test.each(recordings)("$id is rendered id by id as it was sampled", ({ completion }) => {
  const isCut = !isSpecial(completion.at(-1) ?? 0);
  // A renderer closes each message.
  const whole = [...START, ...completion, ...(isCut ? [SPECIAL_TOKENS["<|end|>"]] : [])];
  const { messages } = parseConversation(whole);
  expect(createRenderer().renderTraining({ messages }).ids).toEqual(whole);
});
