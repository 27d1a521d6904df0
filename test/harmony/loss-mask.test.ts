import { describe, expect, test } from "vitest";
import {
  CALL,
  CHANNEL,
  type Conversation,
  createRenderer,
  END,
  type LossMask,
  lossMask,
  MESSAGE,
  RETURN,
  START,
} from "../../src/harmony/index.ts";
import {
  analysisMessage,
  finalMessage,
  preambleMessage,
  toolCallMessage,
  toolResultMessage,
  userMessage,
} from "../../src/harmony/messages.ts";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import { readRenderCases, toConversation } from "./render-cases.ts";

const renderer = createRenderer();
const decode = (ids: readonly number[]) => o200kHarmony().decode(ids);

/** The counted ids as text in brackets, the others as they are. */
function marked(conversation: Conversation, which: LossMask): string {
  const prompt = renderer.renderTraining(conversation);
  const mask = lossMask(prompt, which);
  let text = "";
  for (let at = 0; at < prompt.length;) {
    let end = at;
    while (end < prompt.length && mask[end] === mask[at]) end++;
    const run = decode(prompt.ids.slice(at, end));
    text += mask[at] === 1 ? `[[${run}]]` : run;
    at = end;
  }
  return text;
}

const conversation: Conversation = {
  messages: [
    userMessage("a"),
    analysisMessage("t"),
    preambleMessage("p"),
    toolCallMessage("f", "{}"),
    toolResultMessage("f", "r"),
    finalMessage("b"),
    userMessage("c"),
    finalMessage("d"),
  ],
};

describe("the loss mask", () => {
  test("of all assistant messages begins after the header that a prompt opens", () => {
    expect(marked(conversation, "all")).toBe(
      "<|start|>user<|message|>a<|end|><|start|>assistant[[<|channel|>analysis<|message|>t<|end|>" +
        "<|start|>assistant<|channel|>commentary<|message|>p<|end|>" +
        "<|start|>assistant to=functions.f<|channel|>commentary <|constrain|>json<|message|>{}<|call|>]]" +
        "<|start|>functions.f to=assistant<|channel|>commentary<|message|>r<|end|>" +
        "<|start|>assistant[[<|channel|>final<|message|>b<|end|>]]" +
        "<|start|>user<|message|>c<|end|><|start|>assistant[[<|channel|>final<|message|>d<|return|>]]",
    );
  });

  test("of the last turn excludes messages before the last user", () => {
    expect(marked(conversation, "last")).toMatch(
      /^[^[]*<\|start\|>assistant\[\[<\|channel\|>final<\|message\|>d<\|return\|>\]\]$/,
    );
  });

  test("of final answers excludes analysis and calls", () => {
    expect(marked(conversation, "final").match(/\[\[.*?\]\]/g)).toEqual([
      "[[<|channel|>final<|message|>b<|end|>]]",
      "[[<|channel|>final<|message|>d<|return|>]]",
    ]);
  });
});

describe("computed from the ids alone", () => {
  const golden = readRenderCases("harmony-render.jsonl").filter(
    (line) => line.expected_error === undefined,
  );

  test.each(["all", "last", "final"] as const)(
    "the mask %s of every golden one is the same",
    (which) => {
      let counted = 0;
      for (const { conversationText } of golden) {
        for (const rendered of [
          renderer.renderConversation(toConversation(conversationText)),
          renderer.renderTraining(toConversation(conversationText)),
          renderer.renderCompletion(toConversation(conversationText)),
        ]) {
          const mask = Array.from(lossMask(rendered, which));
          expect(mask).toEqual(independentMask(rendered.ids, which));
          counted += mask.reduce((sum, bit) => sum + bit, 0);
        }
      }
      expect(counted).toBeGreaterThan(1000);
    },
  );
});

const CLOSERS = new Set<number>([END, CALL, RETURN]);

/** Knows nothing of messages: reads the ids from marker to marker. */
function independentMask(ids: readonly number[], which: LossMask): number[] {
  const mask: number[] = ids.map(() => 0);
  const starts = ids.flatMap((id, at) => (id === START ? [at] : []));
  const frames = starts.map((start, index) => {
    const end = starts[index + 1] ?? ids.length;
    const header = ids.slice(start + 1, ids.indexOf(MESSAGE, start));
    const channelAt = header.indexOf(CHANNEL);
    const author = decode(header.slice(0, channelAt < 0 ? header.length : channelAt)).split(" ")[0];
    const channel = channelAt < 0 ? "" : decode(header.slice(channelAt + 1)).split(" ")[0];
    const isClosed = CLOSERS.has(ids[end - 1] ?? -1);
    return { start, end, author: author ?? "", channel, isClosed, last: ids[end - 1] };
  });
  const isAssistant = (author: string) => /^assistant(?::|$)/.test(author);
  const others = frames.filter(({ author }) => /^(?:user|system|developer)(?::|$)/.test(author));
  const from = which === "last" ? (others.at(-1)?.start ?? -1) : -1;
  for (const [index, frame] of frames.entries()) {
    if (!isAssistant(frame.author) || !frame.isClosed || frame.start < from) continue;
    if (which === "final" && frame.channel !== "final") continue;
    const before = frames[index - 1];
    const goesOn = before !== undefined && isAssistant(before.author) && before.last === END;
    const given = 1 + o200kHarmony().encode("assistant").length;
    const name = frame.author.slice("assistant".length);
    const skipped = goesOn ? 0 : given + (name === "" ? 0 : o200kHarmony().encode(name).length);
    for (let at = frame.start + skipped; at < frame.end; at++) mask[at] = 1;
  }
  return mask;
}
