/**
 * How many tokens an engine reads again in the steps of a real run of gpt-oss-20b, with a prefix cache in blocks of 16: if
 * every step is put back with its ids, in the form of its call, and as it was rendered before either.
 */
import { expect, test } from "vitest";
import { formOf } from "../../src/harmony/call-form.ts";
import {
  CALL,
  createParser,
  createRenderer,
  type Message,
  type PartHeader,
  type RenderedPrompt,
  trainedCallMessage,
  trainedResultMessage,
} from "../../src/harmony/index.ts";
import { MessagePrefixes } from "../../src/harmony/message-prefixes.ts";
import {
  analysisMessage,
  callMessage,
  resultMessage,
  userMessage,
} from "../../src/harmony/messages.ts";
import { readSpan } from "../../src/harmony/read-span.ts";
import { o200kHarmony, type TokenId } from "../../src/tokenizer/index.ts";
import { Transcript } from "../../src/turn/prompt/transcript.ts";
import { TurnParser } from "../../src/turn/reading/turn-parser.ts";
import { putBackStep } from "../../src/turn/sampled/put-back.ts";
import { StepCutter } from "../../src/turn/sampled/step-cutter.ts";
import { spelledIds } from "../helpers/spelled.ts";
import { readTape } from "../helpers/swe-tape.ts";

const tokenizer = o200kHarmony();
const BLOCK = 16;

interface Step {
  readonly ids: readonly TokenId[];
  readonly reasoning: string;
  readonly name: string;
  readonly args: string;
  readonly header: PartHeader | undefined;
  readonly isRepaired: boolean;
  readonly result: string;
}

const turns = readTape();
const tools = turns[0]?.tools ?? [];
const parsing = {
  systemTools: [],
  textTools: [],
  toolNames: tools,
};

/** The steps whose results stand in the next prompt. */
function readSteps(): Step[] {
  return turns.flatMap(({ response, expected }, index): Step[] => {
    const delta = turns[index + 1]?.prompt_delta ?? "";
    const result = /<\|message\|>((?:(?!<\|message\|>)[^])*)<\|end\|><\|start\|>assistant$/.exec(
      delta,
    )?.[1];
    if (expected.call === null || result === undefined) return [];
    const ids = [...spelledIds(response), CALL];
    const parser = createParser(tokenizer, parsing);
    const events = [...parser.pushIds(ids), ...parser.end("stop")];
    let [reasoning, args, name] = ["", "", ""];
    let header: PartHeader | undefined;
    for (const event of events) {
      if (event.type === "part-start") {
        header = event.header;
        name = event.part === "tool-call" ? event.name : "";
      } else if (event.type === "part-delta" && name !== "") args += event.text;
      else if (event.type === "part-delta") reasoning += event.text;
    }
    return [{ ids, reasoning, name, args, header, isRepaired: parser.recoveries.size > 0, result }];
  });
}

type How = "exact" | "ids" | "form" | "reference";

function prefilled(steps: readonly Step[], how: How) {
  const renderer = createRenderer({ layout: how === "reference" ? "reference" : "guide" });
  const prefixes = new MessagePrefixes(renderer, tokenizer, "guide");
  const messages: Message[] = [userMessage(turns[0]?.prompt_delta ?? "")];
  let exactIds: readonly TokenId[] | undefined;
  let [total, exact, broken] = [0, 0, 0];
  for (const step of steps) {
    const prompt = renderWith(messages, renderer);
    const base = exactIds ?? prompt.ids;
    const cut = sampleStep(step.ids, prompt, prefixes);
    const own = toMessages(step, how);
    const spans = cut.spans.map(({ ids }) => readSpan(ids, tokenizer));
    const written =
      how === "ids" ? putBackStep(own.slice(0, 2), { step: cut, spans }, true) : own.slice(0, 2);
    messages.push(...written, ...own.slice(2));

    const held = [...base, ...step.ids];
    const result = own.at(-1);
    if (how === "exact" && result)
      exactIds = [...held, ...renderer.renderCompletion({ messages: [result] }).ids];
    const next = exactIds ?? renderWith(messages, renderer).ids;
    const departure = held.findIndex((id, at) => next[at] !== id);
    const isExact = departure === -1;
    exact += Number(isExact);
    broken += Number(!isExact && !step.isRepaired);
    const reused = Math.min(isExact ? held.length - 1 : departure, next.length - 1);
    total += next.length - Math.floor(reused / BLOCK) * BLOCK;
  }
  return { total, exact, broken };
}

function sampleStep(ids: readonly TokenId[], prompt: RenderedPrompt, prefixes: MessagePrefixes) {
  const parser = new TurnParser(tokenizer, {
    ...parsing,
    readsCalls: false,
    markers: "shown",
    allowHiddenMarkers: false,
    onShownMarker: () => undefined,
  });
  const { countRepairs } = parser;
  const transcript = new Transcript(prompt, tokenizer, countRepairs);
  for (const id of ids) {
    parser.push({ type: "ids", ids: [id] });
    transcript.appendIds([id]);
  }
  return new StepCutter({ prompt, transcript, tokenizer, prefixes, countRepairs }).cut();
}

function renderWith(messages: readonly Message[], renderer: ReturnType<typeof createRenderer>) {
  const steps = renderer.renderCompletionInSteps({ messages }, { scope: "" });
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}

/** `reference`: as functions, the form in which the gateway rendered them before. */
function toMessages({ reasoning, name, args, header, result }: Step, how: How): Message[] {
  const analysis = reasoning === "" ? [] : [analysisMessage(reasoning)];
  if (how === "reference") {
    const recipient = `functions.${name.replace(".", "_")}`;
    return [...analysis, callMessage(recipient, args), resultMessage(recipient, result)];
  }
  const form = formOf(header);
  const { channel: _c, contentType: _t, ...plain } = trainedCallMessage(name, args);
  const call = form === undefined ? trainedCallMessage(name, args) : { ...plain, ...form.header };
  return [...analysis, call, trainedResultMessage(name, result)];
}

test("with ids every step that was not repaired is exact, and with the form alone half a per cent is read again", () => {
  const steps = readSteps();
  const rows = (["exact", "ids", "form", "reference"] as const).map(
    (how) => [how, prefilled(steps, how)] as const,
  );
  const { exact, ids, form, reference } = Object.fromEntries(rows);
  if (process.env["SHOW_TAPE"]) console.table({ steps: steps.length, ...Object.fromEntries(rows) });
  expect(exact?.exact).toBe(steps.length);
  expect(ids?.broken).toBe(0);
  expect(ids?.exact).toBe(steps.filter(({ isRepaired }) => !isRepaired).length);
  expect((ids?.total ?? 0) / (exact?.total ?? 1)).toBeLessThan(1.005);
  expect((form?.total ?? 0) / (exact?.total ?? 1)).toBeLessThan(1.005);
  expect(reference?.exact).toBe(0);
  expect((reference?.total ?? 0) / (exact?.total ?? 1)).toBeGreaterThan(1.05);
});
