/** The prompts that the gateway would have written in a real run of gpt-oss-20b, beside those that its harness wrote. */
import { expect, test } from "vitest";
import { CODING_TOOLS, toCodingNamespaces } from "../../src/harmony/coding-tools.ts";
import { callMessage, systemMessage } from "../../src/harmony/messages.ts";
import {
  createParser,
  createRenderer,
  type Message,
  trainedCallMessage,
  trainedResultMessage,
} from "../../src/harmony/index.ts";
import { formOf } from "../../src/harmony/call-form.ts";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import { spelledIds } from "../helpers/spelled.ts";
import { readTape, type TapeTurn } from "../helpers/swe-tape.ts";

const turns = readTape();
const tools = Object.keys(CODING_TOOLS);
const renderer = createRenderer({ layout: "guide" });

test("the definitions are those of the run, and so is the whole system message", () => {
  const system = systemMessage({
    identity: "You are ChatGPT, a large language model trained by OpenAI.",
    knowledgeCutoff: "2024-06",
    effort: "medium",
    namespaces: toCodingNamespaces(Object.values(CODING_TOOLS)),
  });
  const [first] = turns;
  const end = "<|end|>";
  const theirs = first?.prompt_delta.slice(0, first.prompt_delta.indexOf(end) + end.length);
  expect(renderer.renderMessage(system).text()).toBe(theirs);
  expect(first?.tools).toEqual(tools);
});

/** The messages of a step: as the model wrote its call, and as the harness gave the result. */
function toStep({ response }: TapeTurn, delta: string): Message[] {
  const parser = createParser(o200kHarmony(), { toolNames: tools });
  let [analysis, name, args] = ["", "", ""];
  let form: ReturnType<typeof formOf>;
  for (const event of [...parser.pushIds(spelledIds(response)), ...parser.end("stop")]) {
    if (event.type === "part-start" && event.part === "tool-call") {
      name = event.name;
      form = formOf(event.header);
    } else if (event.type === "part-delta" && name !== "") args += event.text;
    else if (event.type === "part-delta") analysis += event.text;
  }
  const [, result = ""] =
    /<\|message\|>((?:(?!<\|message\|>)[^])*)<\|end\|>[^]{0,20}$/.exec(delta) ?? [];
  const call = trainedCallMessage(name, args);
  return [
    { role: "assistant", channel: "analysis", content: analysis },
    { ...call, ...form?.header },
    trainedResultMessage(name, result),
  ];
}

/** How the prompt of the next turn differs from what the harness wrote. */
function differences(turn: TapeTurn, next: TapeTurn): string[] {
  if (next.prompt_delta === "") return ["thrown away by the harness"];
  const step = toStep(turn, next.prompt_delta);
  const [, call, result] = step.map((message) => renderer.renderMessage(message).text());
  const ours = step.map((message) => renderer.renderMessage(message).text()).join("");
  const theirs = next.prompt_delta.replace(/<\|start\|>assistant$/, "");
  const mine = ours.replace(/^<\|start\|>assistant/, "");
  if (mine === theirs) return [];
  const kinds: string[] = [];
  const head = (text: string) => /^[^]*?<\|message\|>/.exec(text)?.[0] ?? "";
  const [, theirCall = "", theirResult = ""] = theirs.split(/(?<=<\|(?:end|call)\|>)/);
  if (head(call ?? "") !== head(theirCall)) kinds.push("header of the call");
  if (head(result ?? "") !== head(theirResult)) kinds.push("header of the result");
  const tail = (text: string) => text.slice(head(text).length);
  if (tail(call ?? "") !== tail(theirCall)) kinds.push("white space behind the arguments");
  if (tail(result ?? "") !== tail(theirResult)) kinds.push("text of the result");
  return kinds;
}

test("every other difference of the run's prompts is the header that the harness turned round, or white space", () => {
  const counts = new Map<string, number>();
  for (const [index, turn] of turns.slice(0, -1).entries()) {
    const next = turns[index + 1];
    if (next === undefined) continue;
    const kinds = differences(turn, next).join(" + ") || "none";
    counts.set(kinds, (counts.get(kinds) ?? 0) + 1);
  }
  expect(Object.fromEntries(counts)).toEqual({
    // The model wrote the recipient first, as the harness writes it.
    none: 3,
    "header of the call": 9,
    // The parser trims arguments: the model had ended them with a line. Put back with their ids, they have it.
    "header of the call + white space behind the arguments": 24,
    // The malformed header of turn 16, which the harness wrote again as malformed, and with it that of the result.
    "header of the call + header of the result + white space behind the arguments": 1,
    "thrown away by the harness": 2,
  });
});

test("calls are written in the order of 50 of the run's 60: the channel first, and the name behind it", () => {
  const texts = [
    trainedCallMessage("container.exec", '{"command":["ls"]}'),
    trainedResultMessage("container.exec", "a\n"),
    callMessage("functions.f", "{}"),
  ].map((message) => renderer.renderMessage(message).text());
  expect(texts).toEqual([
    '<|start|>assistant<|channel|>analysis to=container.exec code<|message|>{"command":["ls"]}<|call|>',
    "<|start|>container.exec to=assistant<|channel|>analysis<|message|>a\n<|end|>",
    "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>",
  ]);
});
