import { describe, expect, test, vi } from "vitest";
import { createPace, tokenText } from "../../../src/api/reply/held-reply.ts";
import { o200kHarmony, SPECIAL_TOKENS } from "../../../src/tokenizer/index.ts";
import { createBrowsingApp } from "../../helpers/browsing-app.ts";
import { type Script, scriptedEngine } from "../../helpers/scripted-engine.ts";

const MAX_BODY = 100_000;
/** The limit in docs/security.md. */
const HELD = 4 * MAX_BODY;
/** Tokens that count for each of several choices without a limit: see docs/fields.md. */
const USUAL_TOKENS = 16_384;

const answer = (words: number) =>
  `<|channel|>final<|message|>${" configuration".repeat(words)}<|return|>`;

function appWith(scripts: readonly Script[]) {
  const engine = scriptedEngine(scripts, { batch: 100 });
  const { post } = createBrowsingApp({ engine, toolbox: {}, settings: { maxBodyBytes: MAX_BODY } });
  return { engine, post };
}

const HI = [{ role: "user", content: "hi" }];

type Asked = readonly [path: string, body: object];

const chat = (fields: object = {}): Asked => ["/v1/chat/completions", { messages: HI, ...fields }];
const responses = (fields: object = {}): Asked => [
  "/v1/responses",
  { input: "hi", store: false, ...fields },
];
const messages = (fields: object = {}): Asked => [
  "/v1/messages",
  { messages: HI, max_tokens: 131_072, model: "gpt-oss-20b", ...fields },
];

const VALUES = { logprobs: true, top_logprobs: 20 };
const OUTPUT_VALUES = { include: ["message.output_text.logprobs"], top_logprobs: 20 };

describe("the bytes that a reply will hold count before it is generated", () => {
  test.each([
    ["choices", chat({ ...VALUES, n: 8, max_tokens: 100 }), 800],
    ["tokens", chat({ ...VALUES, max_completion_tokens: 300 }), 300],
    ["Responses", responses({ ...OUTPUT_VALUES, max_output_tokens: 300 }), 300],
    ["events", responses({ ...OUTPUT_VALUES, max_output_tokens: 300, stream: true }), 300],
  ])("log probabilities that cannot fit are refused: %s", async (_, [path, body], tokens) => {
    const { engine, post } = appWith([]);
    const response = await post(path, body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: {
        message:
          `top_logprobs: the log probabilities of ${tokens} tokens would take about ${tokens * 1680} bytes, more than the ` +
          `${HELD} that can be held for a reply. Send a lower limit of tokens, fewer choices, or a lower top_logprobs.`,
        param: "top_logprobs",
      },
    });
    expect(engine.requests).toEqual([]);
  });

  test("several choices without a limit are refused where they cannot be of a usual length", async () => {
    const { engine, post } = appWith([]);
    const response = await post(...chat({ ...VALUES, n: 2 }));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: {
        message: expect.stringMatching(
          new RegExp(
            `^top_logprobs: the log probabilities of ${2 * USUAL_TOKENS} tokens .* Send a limit of tokens,`,
          ),
        ),
      },
    });
    expect(engine.requests).toEqual([]);
  });

  test("a stream of chunks holds none, and is not refused", async () => {
    const { post } = appWith([answer(10)]);
    const response = await post(...chat({ ...VALUES, max_tokens: 3000, stream: true }));
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('"top_logprobs":[{"token":" configuration"');
  });

  test.each([
    ["log probabilities", chat(VALUES), 4000],
    ["text of Chat Completions", chat(), 31_000],
    ["text of choices", chat({ n: 2 }), 16_000],
    ["log probabilities of Responses", responses(OUTPUT_VALUES), 4000],
    ["text of Responses", responses(), 31_000],
    ["text of Messages", messages(), 31_000],
  ])("a turn ends where there is no room for more: %s", async (_, [path, body], words) => {
    const { engine, post } = appWith([answer(words), answer(words), answer(10)]);
    const response = await post(path, body);
    expect(response.status).toBe(413);
    expect(await response.text()).toContain(
      `The reply has become larger than the ${HELD} bytes that can be held for one. ` +
        "Send a limit of tokens, fewer choices, or a lower top_logprobs.",
    );
    await expect.poll(() => engine.open).toBe(0);
  });

  test("a stream of events ends where there is no room for more", async () => {
    const { engine, post } = appWith([answer(31_000)]);
    const text = await (await post(...responses({ stream: true }))).text();
    expect(text).toContain("event: response.failed");
    expect(text).toContain("The reply has become larger than");
    await expect.poll(() => engine.open).toBe(0);
  });

  test("a response whose log probabilities cannot be stored is refused", async () => {
    const engine = scriptedEngine([]);
    const { post } = createBrowsingApp({
      engine,
      toolbox: {},
      settings: { storeMaxBytes: 67_108_864 },
    });
    const body = { input: "x", ...OUTPUT_VALUES, max_output_tokens: 9600 };
    const response = await post("/v1/responses", body);
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({
      error: {
        message:
          "top_logprobs: the response would be too large to be stored. Send a lower one or a lower max_output_tokens, " +
          "or set store to false.",
        param: "top_logprobs",
      },
    });
    expect(engine.requests).toEqual([]);
  });
});

describe("a large reply", () => {
  const WORDS = 1100;

  test.each([
    ["Chat Completions", chat(VALUES)],
    ["Responses", responses(OUTPUT_VALUES)],
  ])("of %s is written in pieces, and holds its bytes until then", async (_, [path, body]) => {
    const { post } = appWith(Array.from({ length: 4 }, () => answer(WORDS)));
    const first = await post(path, body);
    // Unread, it leaves no room for a second one.
    expect((await post(path, body)).status).toBe(429);
    let pieces = 0;
    let text = "";
    for await (const piece of first.body ?? []) {
      pieces++;
      text += new TextDecoder().decode(piece);
    }
    expect(pieces).toBeGreaterThan(2);
    const found = [
      ...JSON.stringify(JSON.parse(text)).matchAll(/"logprob":-0\.\d+,"top_logprobs"/g),
    ];
    expect(found).toHaveLength(WORDS);
    const left = await post(path, body);
    expect(left.status).toBe(200);
    await left.body?.cancel();
    expect((await post(path, body)).status).toBe(200);
  });
});

test("choices that pause go on one after the other", async () => {
  const waiting: (() => void)[] = [];
  const pace = createPace(() => new Promise((resolve) => waiting.push(resolve)));
  expect(pace(65_535)).toBe(true);
  const [first, second] = [pace(1), pace(1)];
  const ended = vi.fn<() => void>();
  void Promise.resolve(second).then(ended);
  expect(waiting).toHaveLength(2);
  waiting[0]?.();
  expect(await first).toBe(true);
  expect(ended).not.toHaveBeenCalled();
  expect(pace(65_535)).toBe(true);
});

describe("a token of log probabilities", () => {
  test("of complete characters has their UTF-8 as bytes", () => {
    expect(tokenText(24_912)).toEqual({ token: "hello", bytes: [104, 101, 108, 108, 111] });
  });

  test("has its part of the bytes of a character that several tokens share", () => {
    const text = "👩‍🚀 देवनागरी";
    const tokens = o200kHarmony()
      .encode(text)
      .map((id) => tokenText(id));
    expect(tokens.some(({ token }) => token.includes("\uFFFD"))).toBe(true);
    const bytes = Uint8Array.from(tokens.flatMap((token) => token.bytes));
    expect(new TextDecoder().decode(bytes)).toBe(text);
  });

  test("that is a control token has the bytes of its name", () => {
    const { token, bytes } = tokenText(SPECIAL_TOKENS["<|return|>"]);
    expect(token).toBe("<|return|>");
    expect(new TextDecoder().decode(Uint8Array.from(bytes))).toBe(token);
  });

  test("outside the vocabulary has neither text nor bytes", () => {
    expect(tokenText(201_500)).toEqual({ token: "", bytes: [] });
  });
});
