/** Sampled tokens are put back unchanged: each prompt of a loop begins with the previous prompt and the tokens sampled after it. */
import { describe, expect, test } from "vitest";
import { createBrowsingApp } from "../helpers/browsing-app.ts";
import { scriptedEngine, type ScriptedOptions } from "../helpers/scripted-engine.ts";
import { analysisMessage } from "../../src/harmony/messages.ts";
import { readSpan } from "../../src/harmony/read-span.ts";
import { putBackStep } from "../../src/turn/sampled/put-back.ts";
import { createMemoryStore, type Store } from "../../src/index.ts";
import { o200kHarmony, type TokenId } from "../../src/tokenizer/index.ts";
import { chat, CLIENTS, type Client, type Entry } from "../never-silently-wrong/clients.ts";
import { spelledIds } from "../helpers/spelled.ts";

const ANSWER = "<|channel|>final<|message|>Done.<|return|>";
const think = (text: string) => `<|channel|>analysis<|message|>${text}<|end|><|start|>assistant`;
const CALLS = [
  `${think("One.")}<|channel|>commentary to=functions.f <|constrain|>json<|message|>{ "a": 1.0,\n"b": "\\u00e9" }\n<|call|>`,
  `${think("Two.")} to=functions.f<|channel|>commentary json<|message|>{"b":[1,  2]}<|call|>`,
  `${think("Three.")}<|channel|>analysis to=functions.f code<|message|>{"c":null} <|call|>`,
];

type Change = (args: string) => string;

interface Loop {
  readonly scripts?: readonly (string | readonly TokenId[])[];
  readonly change?: Change;
  readonly store?: Store;
  readonly options?: ScriptedOptions;
  readonly alter?: (entries: Entry[]) => Entry[];
  /** Members of each request beside the conversation. */
  readonly body?: object;
}

/** The ids of each prompt, those that an exact one begins with, and the header of each reply. */
async function runLoop(
  client: Client,
  {
    scripts = CALLS,
    change = (args) => args,
    store,
    options,
    alter = (entries) => entries,
    body,
  }: Loop,
) {
  const engine = scriptedEngine([...scripts, ANSWER], options);
  const { post } = createBrowsingApp({
    engine,
    toolbox: {},
    settings: { layout: "guide" },
    ...(store && { store }),
  });
  const entries: Entry[] = [{ type: "user", text: "Go." }];
  const steps: { prompt: readonly TokenId[]; exact: readonly TokenId[]; header: string | null }[] =
    [];
  let sampled: readonly TokenId[] = [];
  for (const script of [...scripts, ANSWER]) {
    const conversation = client.toBody(alter([...entries]), ["f"]);
    const response = await post(client.path, { ...conversation, ...body });
    expect(response.status).toBe(200);
    const prompt = engine.requests[steps.length]?.prompt.ids ?? [];
    steps.push({ prompt, exact: sampled, header: response.headers.get("x-harmony-exact") });
    sampled = [...prompt, ...(typeof script === "string" ? spelledIds(script) : script)];
    const { calls, text } = client.readReply(await response.json());
    const changed = calls.map((call) => ({ ...call, args: change(call.args) }));
    entries.push({ type: "assistant", text, calls: changed });
    for (const { id } of calls)
      entries.push({ type: "result", id, text: `Result of ${id.length}.` });
  }
  return { steps };
}

function claims({ header }: { header: string | null }) {
  const [, length, message, because] =
    /^(\d+)(?:;message=(\d+);because=([a-z-]+))?$/.exec(header ?? "") ?? [];
  return { length: Number(length), message: message && Number(message), because };
}

const begins = (prompt: readonly TokenId[], beginning: readonly TokenId[]) =>
  beginning.every((id, index) => prompt[index] === id);

const restringify: Change = (args) => JSON.stringify(JSON.parse(args));
const sorted: Change = (args) =>
  JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(args)).toReversed()));

describe.each(CLIENTS.map((client) => [client.name, client] as const))("%s", (_, client) => {
  test.each<[string, Change]>([
    ["as they are", (args) => args],
    ["printed again", restringify],
    ["in another order", sorted],
  ])(
    "arguments sent back %s: each prompt begins with the last one and what was sampled",
    async (_name, change) => {
      const { steps } = await runLoop(client, { change });
      expect(steps[0]?.header).toBeNull();
      for (const [index, { prompt, exact, header }] of steps.entries()) {
        if (index === 0) continue;
        expect(header).toBe(String(exact.length));
        expect(begins(prompt, exact)).toBe(true);
      }
    },
  );

  test("arguments that the client has changed are the client's, in the form of the call", async () => {
    const { steps } = await runLoop(client, { change: () => '{"mine":true}' });
    for (const [index, step] of steps.entries()) {
      if (index === 0) continue;
      const { length, because } = claims(step);
      expect(because).toBe("arguments");
      expect(begins(step.prompt, step.exact)).toBe(false);
      expect(begins(step.prompt, step.exact.slice(0, length))).toBe(true);
      const text = o200kHarmony().decode(step.prompt);
      expect(text).toContain(
        '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"mine":true}<|call|>',
      );
    }
  });
});

/** The gateway writes an empty thought, or the model does: no history has it. */
test.each([
  ["Chat Completions", { reasoning_effort: "none" }],
  ["Responses", { reasoning: { effort: "none" } }],
  ["Messages", { thinking: { type: "disabled" } }],
])("%s: an empty thought is put back before the call", async (name, body) => {
  const client = CLIENTS.find((each) => each.name === name);
  if (client === undefined) throw new Error(`there is no ${name}`);
  const forced = CALLS.map((each) => each.slice(each.indexOf("<|end|><|start|>assistant") + 25));
  const byGateway = await runLoop(client, { scripts: forced, body });
  const empty = forced.map((each) => `${think("")}${each}`);
  const byModel = await runLoop(client, { scripts: empty });
  for (const { prompt, exact, header } of [
    ...byGateway.steps.slice(1),
    ...byModel.steps.slice(1),
  ]) {
    expect(header).toBe(String(exact.length));
    expect(begins(prompt, exact)).toBe(true);
  }
});

test("ids that no encoder would give are put back", async () => {
  const [start = ""] = CALLS;
  const odd = spelledIds(start).flatMap((id) => {
    const text = o200kHarmony().decode([id]);
    return /^\w{3,}$/.test(text) && text !== "assistant" && text !== "analysis"
      ? Array.from(text).flatMap((each) => o200kHarmony().encode(each))
      : [id];
  });
  expect(odd.length).toBeGreaterThan(spelledIds(start).length);
  const { steps } = await runLoop(chat, { scripts: [odd] });
  expect(begins(steps[1]?.prompt ?? [], steps[1]?.exact ?? [])).toBe(true);
  expect(steps[1]?.header).toBe(String(steps[1]?.exact.length));
});

test.each(["text", "pieces"] as const)("an engine that returns %s", async (form) => {
  const { steps } = await runLoop(chat, { options: { form } });
  for (const { prompt, exact, header } of steps.slice(1)) {
    expect(header).toBe(String(exact.length));
    expect(begins(prompt, exact)).toBe(true);
  }
});

test("an engine that does not return the token that ends a call", async () => {
  const { steps } = await runLoop(chat, { options: { capabilities: { stopIdVisible: false } } });
  for (const { prompt, exact } of steps.slice(1)) expect(begins(prompt, exact)).toBe(true);
});

test("a header that had to be repaired is not repeated", async () => {
  const { steps } = await runLoop(chat, {
    scripts: [
      `${think("So.")}<|channel|>functions.f<|channel|>commentary json<|message|>{}<|call|>`,
    ],
  });
  const [, second] = steps;
  expect(second && claims(second)).toMatchObject({ because: "repaired" });
  expect(second && begins(second.prompt, second.exact.slice(0, claims(second).length))).toBe(true);
});

/** Changes the span that is stored with each call. */
function damagedStore(change: (span: string) => string | undefined): Store {
  const store = createMemoryStore({ maxEntries: 1000, maxBytes: 1e7, now: () => 0 });
  return {
    ...store,
    async get(key) {
      const value = await store.get(key);
      return value?.replace(/,"sampled":"([^"]*)"/, (_, span) => {
        const damaged = change(String(span));
        return damaged === undefined ? "" : `,"sampled":${JSON.stringify(damaged)}`;
      });
    },
  };
}

test.each<[string, string, (span: string) => string | undefined]>([
  ["lost", "not-found", () => undefined],
  ["empty", "damaged", () => ""],
  ["of another version", "not-found", (span) => span.replace(/^2/, "1")],
  ["cut", "damaged", (span) => span.slice(0, -40)],
  ["no base64", "damaged", (span) => span.replace(/^2/, "2%%")],
])(
  "a span that is %s: the call is rendered in its form, and the header says why",
  async (_name, because, change) => {
    const { steps } = await runLoop(chat, { store: damagedStore(change) });
    for (const step of steps.slice(1)) {
      expect(claims(step)).toMatchObject({ because });
      const { length } = claims(step);
      expect(begins(step.prompt, step.exact.slice(0, length))).toBe(true);
    }
    expect(o200kHarmony().decode(steps.at(-1)?.prompt ?? [])).toContain(
      "<|channel|>analysis to=functions.f code<|message|>",
    );
  },
);

test("many changed messages before a call cost no square of them", () => {
  const spans = Array.from({ length: 20_000 }, (_, index) => {
    const ids = spelledIds(`<|start|>assistant<|channel|>analysis<|message|>${index}<|end|>`);
    return readSpan(ids);
  });
  let compared = 0;
  const counted = spans.map((span) => {
    if (span === undefined) throw new Error("it is no message");
    return {
      pieces: span.pieces,
      get message() {
        compared += 1;
        return span.message;
      },
    };
  });
  const mark = { length: 0, low: 0, high: 0 };
  const step = { start: mark, end: mark, spans: [], isText: false };
  const messages = spans.map((_, index) => analysisMessage(`changed ${index}`));
  const written = putBackStep(messages, { step, spans: counted }, false);
  expect(compared / spans.length).toBeLessThan(200);
  expect(written.every(({ sampled }) => sampled?.because === "reasoning")).toBe(true);
});
