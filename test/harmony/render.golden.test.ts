import { describe, expect, test } from "vitest";
import {
  createRenderer,
  HarmonyRenderError,
  JsonSyntaxError,
  type Layout,
  type RenderedPrompt,
  type Renderer,
} from "../../src/harmony/index.ts";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import { readRenderCases, toConversation } from "./render-cases.ts";
import type { RenderCase } from "./render-cases.ts";

/** One that drops and one that does not, shared by all cases: their caches must not affect results. */
const renderers = (layout: Layout) => ({
  keeping: createRenderer({ layout }),
  dropping: createRenderer({ layout, autoDropAnalysis: true }),
});
type Renderers = ReturnType<typeof renderers>;
const reference = renderers("reference");
const channelFirst = renderers("channel-first");

const golden = readRenderCases("harmony-render.jsonl");
const differential = readRenderCases("differential-render.jsonl.gz");

/** Messages of the reference's errors, and the corresponding codes. */
const ERRORS: readonly [RegExp, string][] = [
  [/^Tools should have a name!$/, "tool-without-name"],
  [/^SystemContent may only appear in system messages/, "misplaced-system-content"],
  [/^DeveloperContent may only appear in developer messages/, "misplaced-developer-content"],
  [/^number out of range/, "JsonSyntaxError"],
];

test("the files have the expected number of cases", () => {
  expect([golden.length, differential.length]).toEqual([233, 1000]);
});

describe("harmony-render.jsonl, as openai/harmony 0.0.8 writes it", () => {
  test.each(golden)("$id", (line) => {
    expect(outcome(line, reference)).toEqual(expected(line));
  });
});

describe("harmony-render.jsonl, channel first", () => {
  test.each(golden.filter((line) => line.expected_error === undefined))("$id", (line) => {
    const { text, token_ids: ids } = line.channel_first ?? {
      text: line.expected_text,
      token_ids: line.expected_token_ids,
    };
    expect(outcome(line, channelFirst)).toEqual({ text, ids });
  });
});

test("differential-render.jsonl: random conversations render as the reference renders them", () => {
  const wrong = differential.filter((line) => !equal(outcome(line, reference), expected(line)));
  expect(wrong.map(({ id, tags }) => ({ id, tags }))).toEqual([]);
});

interface Outcome {
  readonly text?: string | undefined;
  readonly ids?: readonly number[] | undefined;
  readonly error?: string | undefined;
}

function expected(line: RenderCase): Outcome {
  if (line.expected_error === undefined) {
    return { text: line.expected_text, ids: line.expected_token_ids };
  }
  return { error: ERRORS.find(([wording]) => wording.test(line.expected_error ?? ""))?.[1] };
}

function outcome(line: RenderCase, by: Renderers): Outcome {
  try {
    const { ids } = render(line, line.drop_analysis ? by.dropping : by.keeping);
    return { text: o200kHarmony().decode(ids), ids };
  } catch (error) {
    if (error instanceof HarmonyRenderError) return { error: error.code };
    if (error instanceof JsonSyntaxError) return { error: error.name };
    throw error;
  }
}

function render(line: RenderCase, renderer: Renderer): RenderedPrompt {
  const conversation = toConversation(line.conversationText);
  switch (line.mode) {
    case "completion":
      return renderer.renderCompletion(conversation, line.next_role ?? "assistant");
    case "conversation":
      return renderer.renderConversation(conversation);
    case "training":
      return renderer.renderTraining(conversation);
    case "message": {
      const [first] = conversation.messages;
      if (first === undefined) throw new Error(`${line.id} has no message`);
      return renderer.renderMessage(first);
    }
  }
  return line.mode satisfies never;
}

function equal(left: Outcome, right: Outcome): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
