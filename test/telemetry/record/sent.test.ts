/** The events of a record are the bytes that were sent. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import {
  array,
  assert,
  asyncProperty,
  boolean,
  constantFrom,
  integer,
  oneof,
  record,
  string,
} from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod";
import { createEngine, type Engine } from "../../../src/index.ts";
import { o200kHarmony } from "../../../src/tokenizer/index.ts";
import { scriptTransport } from "../../engines/support.ts";
import { eventually } from "../../helpers/eventually.ts";
import { createRecordedApp, type RecordedApp } from "../../helpers/recorded-app.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { spelledIds } from "../../helpers/spelled.ts";

const MODEL = "openai/gpt-oss-20b";
const MESSAGES = [{ role: "user", content: "Hi" }];
const PARAMETERS = { type: "object", properties: { city: { type: "string" } } };
const CHAT_TOOL = { type: "function", function: { name: "get_weather", parameters: PARAMETERS } };

const REQUESTS: readonly (readonly [path: string, body: object])[] = [
  ["/v1/chat/completions", { messages: MESSAGES, tools: [CHAT_TOOL] }],
  ["/v1/chat/completions", { messages: MESSAGES, n: 3 }],
  ["/v1/responses", { input: "Hi", store: false }],
  [
    "/v1/messages",
    {
      messages: MESSAGES,
      max_tokens: 4000,
      tools: [{ name: "get_weather", input_schema: PARAMETERS }],
    },
  ],
];

const SETTINGS = [{}, { reasoningContentMirror: true }, { reasoningPolicy: "none" }];

/** The answers to requests, and the answers in their records. */
async function exchange(
  engine: Engine,
  settings: object,
  { requests = REQUESTS, isWatched = false } = {},
) {
  const app = createRecordedApp({ engine, settings: { ...settings } });
  let isOver = false;
  const watching = isWatched && watch(app.entries, () => isOver);
  const answers = await Promise.all(
    requests.map(async ([path, body], index) => {
      const headers = { "x-request-id": `r${index}` };
      const answer = await app.post(path, { model: MODEL, stream: true, ...body }, headers);
      return answer.text();
    }),
  );
  await eventually(() => expect(app.entries.every(({ isComplete }) => isComplete)).toBe(true));
  isOver = true;
  await watching;
  const records = await app.records();
  const recorded = requests.map((_, index) => {
    const { answer } = records.find(({ id }) => id === `r${index}`) ?? {};
    const texts = [answer?.body ?? "", ...(answer?.events ?? []).map(({ text }) => text)];
    return texts.map((text) => z.string().parse(text)).join("");
  });
  return { answers, recorded };
}

/** Reads records while they grow, as the page does. */
async function watch(entries: RecordedApp["entries"], isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    for (const entry of entries) {
      await entry.record();
      await entry.changes();
    }
    await setImmediate();
  }
}

const FIXTURES = join(import.meta.dirname, "../../fixtures");
const STREAMS = ["engines/vllm", "recorded/vllm"].flatMap((folder) =>
  readdirSync(join(FIXTURES, folder))
    .filter((name) => name.endsWith(".sse"))
    .map((name) => `${folder}/${name}`),
);

test.each(STREAMS)("recorded stream %s", async (name) => {
  const stream = readFileSync(join(FIXTURES, name), "utf8");
  const events = stream.split(/(?<=\n\n)/).map((event) => new TextEncoder().encode(event));
  for (const request of REQUESTS) {
    const engine = createEngine("vllm", {
      url: "http://engine:8000",
      model: MODEL,
      transport: scriptTransport(() => ({ pieces: events })),
    });
    const { answers, recorded } = await exchange(engine, {}, { requests: [request] });
    expect(recorded).toEqual(answers);
  }
});

const STRICT = { name: "get_weather", parameters: { ...PARAMETERS, required: ["city"] } };

test.each<readonly [string, string, object]>([
  ["chat completions", "/v1/chat/completions", { messages: MESSAGES }],
  [
    "a strict function",
    "/v1/chat/completions",
    { messages: MESSAGES, tools: [{ type: "function", function: { ...STRICT, strict: true } }] },
  ],
  [
    "a budget for reasoning",
    "/v1/chat/completions",
    { messages: MESSAGES, reasoning: { max_tokens: 5000 } },
  ],
  ["responses", "/v1/responses", { input: "Hi", store: false }],
  [
    "messages",
    "/v1/messages",
    {
      messages: MESSAGES,
      max_tokens: 9000,
      thinking: { type: "enabled", budget_tokens: 5000 },
    },
  ],
])("of long texts with %s", async (_, path, body) => {
  const words = Array.from({ length: 600 }, (__, at) => ` word${at % 9}${at % 7}`).join("");
  const written =
    `<|channel|>analysis<|message|>${words}<|end|><|start|>assistant` +
    `<|channel|>final<|message|>${words}<|return|>`;
  const { answers, recorded } = await exchange(
    scriptedEngine([written]),
    {},
    { requests: [[path, body]] },
  );
  expect(recorded).toEqual(answers);
  expect(answers[0]?.split("\n\n").length).toBeGreaterThan(2000);
});

const anyText = oneof(
  string({ unit: "grapheme", maxLength: 80 }),
  string({ maxLength: 400 }),
  constantFrom(
    ' and "so" on\\\n'.repeat(20),
    "日本語のテキスト",
    "👩‍🚀👨‍👩‍👧",
    "x".repeat(200),
    "\u2028\u0000",
  ),
);
const anyPart = record({
  begin: constantFrom(
    "<|channel|>analysis<|message|>",
    "<|channel|>commentary<|message|>",
    "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>",
    "<|channel|>final<|message|>",
  ),
  text: anyText,
  end: constantFrom("<|end|>", "<|end|><|start|>assistant", "<|call|>", ""),
});

test("any output, of several requests at once", async () => {
  const anyRun = record({
    parts: array(anyPart, { minLength: 1, maxLength: 5 }),
    batch: oneof(constantFrom(1), integer({ min: 1, max: 7 })),
    form: constantFrom("ids" as const, "ids" as const, "pieces" as const, "text" as const),
    settings: constantFrom(...SETTINGS),
    isWatched: boolean(),
  });
  await assert(
    asyncProperty(anyRun, async ({ parts, batch, form, settings, isWatched }) => {
      const ids = parts.flatMap(({ begin, text, end }) => [
        ...spelledIds(begin),
        ...o200kHarmony().encode(text),
        ...spelledIds(end),
      ]);
      const engine = scriptedEngine(() => ids, { batch, form });
      const { answers, recorded } = await exchange(engine, settings, { isWatched });
      expect(recorded).toEqual(answers);
    }),
    { numRuns: 30 },
  );
});
