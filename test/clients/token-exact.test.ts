/**
 * Real clients in a tool loop of ten steps: each prompt begins with the prompt before and the tokens that were sampled, which
 * `x-harmony-exact` states. The model writes the header of each call in another form, and its arguments as no client prints them.
 */
import { describe, expect, test } from "vitest";
import { startTestGateway, type TestGatewayOptions } from "../helpers/gateway.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { spelledIds } from "../helpers/spelled.ts";
import type { TokenId } from "../../src/tokenizer/index.ts";
import { CLIENTS } from "./loops.ts";
import { LOOPS } from "./messages-loops.ts";
import { RESPONSES_CLIENTS } from "./responses-loops.ts";
import { startTap, type Tap } from "./responses-tap.ts";

/** Headers of calls, in which `F` stands for the function's name. */
const HEADERS = [
  "<|channel|>commentary to=F <|constrain|>json",
  " to=F<|channel|>commentary <|constrain|>json",
  "<|channel|>commentary to=F json",
  " to=F<|channel|>commentary json",
  "<|channel|>commentary to=F<|constrain|>json",
  "<|channel|>analysis to=F code",
  " to=F<|channel|>analysis code",
  "<|channel|>commentary to=F",
  " to=F<|channel|>analysis",
  "<|channel|>analysis to=F <|constrain|>json",
];
const STEPS = HEADERS.length;
const PREAMBLE = "<|channel|>commentary<|message|>One moment.<|end|><|start|>assistant";
const BEGIN = "<|start|>assistant";
const LONG = "Llanfairpwllgwyngyll ".repeat(150);

/** The arguments of a step, for the functions of one kind of client. */
interface Model {
  readonly recipient: string;
  readonly args: readonly string[];
}

const TRAVEL: Model = {
  recipient: "functions.get_weather",
  args: ['{"city":"Oslo"}', '{ "city" : "Malm\\u00f6" }\n', `{"city":\n  "${LONG}"}`],
};
const COUNT: Model = {
  recipient: "functions.step",
  args: ['{"n":1}', '{ "n" : 2e0 }\n', '{"n":\n3.0}'],
};

interface Step {
  /** The prompt of its first engine call. */
  readonly begin: readonly TokenId[];
  /** The prompt of its last engine call, and the tokens sampled by it. */
  end: readonly TokenId[];
}

/** The checks of each prompt but the first. */
interface Outcome {
  /** Whether it begins with the prompt before and the tokens sampled then. */
  readonly exact: readonly boolean[];
  /** The value of `x-harmony-exact`, and the one that claims an exact step. */
  readonly headers: readonly (string | null)[];
  readonly claims: readonly string[];
}

async function runLoop(
  { recipient, args }: Model,
  settings: NonNullable<TestGatewayOptions["settings"]>,
  say: (tap: Tap) => Promise<unknown> | undefined,
): Promise<Outcome> {
  const steps: Step[] = [];
  const engine = scriptedEngine(({ prompt }) => {
    const text = prompt.text();
    const done = text.split(`<|start|>${recipient} `).length - 1;
    const body = `${args[done % args.length]}<|call|>`;
    // Functions that are strict take a second engine call, which goes on from the call's header.
    const isNew = text.endsWith(BEGIN);
    const script = isNew ? writeStep(done, recipient, body) : body;
    const end = [...prompt.ids, ...spelledIds(script)];
    const last = steps.at(-1);
    if (isNew || last === undefined) steps.push({ begin: prompt.ids, end });
    else last.end = end;
    return script;
  });
  const gateway = await startTestGateway({ engine, settings });
  const tap = await startTap(gateway.origin);
  try {
    expect(await say(tap)).toContain("Done.");
  } finally {
    await tap.close();
    await gateway.close();
  }
  const answers = tap.answers.filter(({ status }) => status === 200);
  expect(answers.length).toBe(STEPS + 1);
  expect(steps.length).toBe(STEPS + 1);
  const ends = steps.slice(0, -1).map(({ end }) => end);
  return {
    exact: ends.map((end, index) => end.every((id, at) => steps[index + 1]?.begin[at] === id)),
    headers: answers.slice(1).map(({ headers }) => headers.get("x-harmony-exact")),
    claims: ends.map((end) => String(end.length)),
  };
}

function writeStep(done: number, recipient: string, body: string): string {
  const analysis = `<|channel|>analysis<|message|>Thought ${done}.\n<|end|>${BEGIN}`;
  if (done >= STEPS) return `${analysis}<|channel|>final<|message|>Done.<|return|>`;
  const header = HEADERS[done]?.replace("F", recipient);
  return `${analysis}${done % 3 === 1 ? PREAMBLE : ""}${header}<|message|>${body}`;
}

interface Client {
  readonly name: string;
  readonly model: Model;
  readonly say: (tap: Tap) => Promise<unknown> | undefined;
}

const ALL: readonly Client[] = [
  ...Object.entries(CLIENTS).map(([name, begin]) => ({
    name: `Chat Completions: ${name}`,
    model: TRAVEL,
    say: ({ baseURL }: Tap) => begin(baseURL)("Go."),
  })),
  ...Object.entries(RESPONSES_CLIENTS).map(([name, begin]) => ({
    name: `Responses: ${name}`,
    model: TRAVEL,
    say: ({ baseURL }: Tap) => begin(baseURL)("Go."),
  })),
  ...Object.entries(LOOPS).map(([name, run]) => ({
    name: `Messages: ${name}`,
    model: COUNT,
    say: ({ baseURL }: Tap) => run({ origin: baseURL.replace(/\/v1$/, ""), fetch }),
  })),
];

describe("all ten steps are exact, and the header says so", () => {
  test.each(ALL.map((client) => [client.name, client] as const))(
    "%s",
    async (_, { model, say }) => {
      const { exact, headers, claims } = await runLoop(model, {}, say);
      expect({ exact, headers }).toEqual({ exact: claims.map(() => true), headers: claims });
    },
  );
});

/** Clients that send back the reasoning, and arguments unchanged, but for a line break at their end. */
const AS_THEY_WERE = 7;
/** Clients that send back the reasoning, and arguments printed anew. */
const PRINTED_AGAIN = 4;
/** Clients that send back no reasoning. */
const NO_REASONING = 0;

/** The number of steps, of ten, that are exact by the forms in the ids of calls alone. Absent: the client has its responses stored. */
const BY_FORM: Readonly<Record<string, number>> = {
  "Chat Completions: openai create": AS_THEY_WERE,
  "Chat Completions: openai stream": NO_REASONING,
  "Chat Completions: openai runTools": NO_REASONING,
  "Chat Completions: @ai-sdk/openai chat": NO_REASONING,
  "Chat Completions: @ai-sdk/openai chat, streamed": NO_REASONING,
  "Chat Completions: @ai-sdk/openai-compatible": PRINTED_AGAIN,
  "Chat Completions: @ai-sdk/openai-compatible, streamed": PRINTED_AGAIN,
  "Chat Completions: @openrouter/ai-sdk-provider": PRINTED_AGAIN,
  "Chat Completions: @openrouter/ai-sdk-provider, streamed": PRINTED_AGAIN,
  "Chat Completions: @langchain/openai": NO_REASONING,
  "Chat Completions: @langchain/openrouter": NO_REASONING,
  "Chat Completions: @langchain/deepseek": NO_REASONING,
  "Chat Completions: @openai/agents": AS_THEY_WERE,
  "Responses: openai create, whole output sent back": AS_THEY_WERE,
  "Responses: openai stream, whole output sent back": AS_THEY_WERE,
  "Responses: @ai-sdk/openai without store": PRINTED_AGAIN,
  "Responses: @ai-sdk/openai without store, streamed": PRINTED_AGAIN,
  "Responses: @langchain/openai useResponsesApi, zdrEnabled": AS_THEY_WERE,
  "Responses: Codex's requests": AS_THEY_WERE,
  ...Object.fromEntries(Object.keys(LOOPS).map((name) => [`Messages: ${name}`, PRINTED_AGAIN])),
};

describe("without a store, steps are exact by the form in the id, and the header claims none", () => {
  test.each(
    ALL.filter(({ name }) => name in BY_FORM).map((client) => [client.name, client] as const),
  )("%s", async (name, { model, say }) => {
    // The store is too small for any entry.
    const { exact, headers } = await runLoop(model, { storeMaxBytes: 1 }, say);
    expect(exact.filter(Boolean).length).toBe(BY_FORM[name]);
    expect(headers).toEqual(exact.map(() => "0;message=3;because=not-found"));
  });
});
