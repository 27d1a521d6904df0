import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  createRenderer,
  createTranscriptParser,
  type Message,
  parseConversation,
  readParts,
  TranscriptError,
  type TranscriptMessage,
  type TranscriptOptions,
  type TranscriptParser,
} from "../../src/harmony/index.ts";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import { readRenderCases, toConversation } from "./render-cases.ts";

const result = z.object({
  messages: z.array(
    z.object({
      role: z.string(),
      name: z.string().optional(),
      recipient: z.string().optional(),
      channel: z.string().optional(),
      content_type: z.string().optional(),
      content: z.string(),
    }),
  ),
  error: z.string().nullable(),
  error_text: z.string().nullable(),
  error_at: z.union([z.number(), z.literal("eos")]).nullable(),
});
const lineSchema = z.object({
  id: z.string(),
  role: z.literal("assistant").nullable(),
  raw: z.string().nullable(),
  token_ids: z.array(z.number()),
  strict: result,
  lax: result.optional(),
});

const path = new URL("../fixtures/harmony-cases/harmony-parse.jsonl", import.meta.url);
const lines = readFileSync(path, "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => lineSchema.parse(JSON.parse(line)));
type Line = (typeof lines)[number];

test("the file has the expected number of lines", () => {
  expect(lines.length).toBe(126);
});

describe("as openai/harmony 0.0.8 reads ids", () => {
  test.each(lines)("$id, strict", (line) => {
    expect(outcome(line, "strict")).toEqual(line.strict);
  });

  test.each(lines)("$id, not strict", (line) => {
    expect(outcome(line, "lax")).toEqual(line.lax ?? line.strict);
  });
});

describe("as openai/harmony 0.0.8 reads the same as text", () => {
  const ordinary = (id: number) => id < 199_998;
  const spelled = lines.filter(
    ({ token_ids: ids }) => !/<\|/.test(o200kHarmony().decode(ids.filter(ordinary))),
  );

  test.each(spelled.filter(({ raw }) => raw !== null))("$id", ({ raw, role, strict }) => {
    const options = role === null ? {} : { role };
    const { messages, error } = attempt(options, (parser) => [
      ...parser.pushText(raw ?? ""),
      ...parser.end(),
    ]);
    expect({ messages: messages.map(toLine), error: error?.code ?? null }).toEqual({
      messages: strict.messages,
      error: strict.error,
    });
  });
});

function outcome({ role, token_ids: ids }: Line, mode: "strict" | "lax") {
  const options: TranscriptOptions = { mode, ...(role !== null && { role }) };
  const whole = attempt(options, (parser) => [...parser.pushIds(ids), ...parser.end()]);
  const one = attempt(options, (parser) => [
    ...ids.flatMap((id) => parser.pushIds([id])),
    ...parser.end(),
  ]);
  const comparable = ({ messages: read, error: failure }: typeof one) => {
    return [read, failure?.message, failure?.at];
  };
  expect(comparable(one)).toEqual(comparable(whole));
  const { messages, error, at } = whole;
  return {
    messages: messages.map(toLine),
    error: error?.code ?? null,
    error_text: error?.message ?? null,
    error_at: at === ids.length ? "eos" : at,
  };
}

function attempt(
  options: TranscriptOptions,
  read: (parser: TranscriptParser) => readonly TranscriptMessage[],
) {
  const messages: TranscriptMessage[] = [];
  const parser = createTranscriptParser(options);
  const keeping: TranscriptParser = {
    ...parser,
    pushIds: (ids) => keep(parser.pushIds(ids)),
    pushText: (text) => keep(parser.pushText(text)),
    end: () => keep(parser.end()),
  };
  const keep = (complete: TranscriptMessage[]) => {
    messages.push(...complete);
    return complete;
  };
  try {
    read(keeping);
    return { messages: messages.map(({ message }) => message), error: null, at: null };
  } catch (error) {
    if (!(error instanceof TranscriptError)) throw error;
    messages.push(...error.messages);
    return { messages: messages.map(({ message }) => message), error, at: error.at };
  }
}

function toLine({ contentType, ...message }: Message) {
  return { ...message, ...(contentType !== undefined && { content_type: contentType }) };
}

const golden = readRenderCases("harmony-render.jsonl").filter(
  (line) => line.expected_error === undefined,
);
/** A name and a channel with a space in it: what stands behind the space reads as a content type. */
const SPACED = new Set(["hr-0165", "hr-0166"]);
/** Bodies of several parts, each of which was encoded alone. */
const SEVERAL_PARTS = new Set(["hr-0158", "hr-0170"]);

describe("rendered conversations", () => {
  const renderers = {
    reference: createRenderer(),
    "channel-first": createRenderer({ layout: "channel-first" }),
  };

  test.each(golden.filter(({ id }) => !SPACED.has(id)))(
    "$id comes back, in either layout",
    (line) => {
      const conversation = toConversation(line.conversationText);
      for (const renderer of Object.values(renderers)) {
        const { ids } = renderer.renderConversation(conversation);
        const parsed = parseConversation(ids, { mode: "lenient" });
        expect(parsed.problems).toEqual([]);
        const again = renderer.renderConversation(parsed).ids;
        expect(decode(again)).toBe(decode(ids));
        expect(SEVERAL_PARTS.has(line.id) || again.join() === ids.join()).toBe(true);
      }
    },
  );

  test("are read message by message from a stream with the same result", () => {
    for (const line of golden) {
      const { ids } = renderers.reference.renderConversation(toConversation(line.conversationText));
      const parser = createTranscriptParser({ mode: "lenient" });
      const read = [...ids.flatMap((id) => parser.pushIds([id])), ...parser.end()];
      const { messages } = parseConversation(ids, { mode: "lenient" });
      expect(readParts(read.map(({ message }) => message))).toEqual(messages);
    }
  });
});

test("any conversation that can be written is read back from its ids", () => {
  const word = fc.stringMatching(/^[a-z_][a-z_.<|>]{0,8}$/);
  const author = fc.oneof(
    fc.record({ role: fc.constantFrom("user", "assistant") }),
    fc.record({ role: fc.constantFrom("user", "assistant"), name: word }),
    word.map((name) => ({ role: "tool" as const, name: `functions.${name}` })),
  );
  const header = fc.record(
    {
      recipient: word.map((name) => `functions.${name}`),
      channel: fc.constantFrom("analysis", "commentary", "final", "other"),
      contentType: word.map((type) => `<|constrain|>${type}`),
    },
    { requiredKeys: [] },
  );
  const content = fc.array(fc.oneof(fc.constantFrom("<|end|>", "<|start|>"), fc.string()));
  const message = fc.tuple(author, header, content).map(([by, rest, texts]): Message => {
    return { ...by, ...rest, content: texts.join("") };
  });
  const renderer = createRenderer();
  const channelFirst = createRenderer({ layout: "channel-first" });
  fc.assert(
    fc.property(fc.array(message), fc.boolean(), (messages, isChannelFirst) => {
      const { ids } = (isChannelFirst ? channelFirst : renderer).renderConversation({ messages });
      const parsed = parseConversation(ids, { mode: "lenient" });
      expect(parsed).toMatchObject({ messages, problems: [] });
    }),
    { numRuns: 500 },
  );
});

test("any ids are read in lenient mode", () => {
  const special = fc.constantFrom(200_002, 200_003, 200_005, 200_006, 200_007, 200_008, 200_012);
  const id = fc.oneof(special, fc.nat({ max: 201_200 }), fc.constantFrom(173_781, 17_196, 12_606));
  fc.assert(
    fc.property(fc.array(id), (ids) => {
      const { messages, ends } = parseConversation(ids, { mode: "lenient" });
      expect(ends).toHaveLength(messages.length);
    }),
    // A channel marker without a channel, in a header that ends without a body.
    { numRuns: 1000, examples: [[[200_006, 200_005, 200_007]]] },
  );
});

test("a header without an author has the role of the prompt", () => {
  const text = "<|message|>Hi<|end|>";
  const { messages } = parseConversation(text, { mode: "lenient", role: "user" });
  expect(messages).toEqual([{ role: "user", content: "Hi" }]);
});

test("the parts of canonical messages are read back", () => {
  const read = golden.flatMap((line) => {
    const { messages } = toConversation(line.conversationText);
    const { ids } = createRenderer({ cacheBytes: 0 }).renderConversation({ messages });
    const parsed = parseConversation(ids, { mode: "lenient" }).messages;
    return messages.flatMap(({ content, role }, index) => {
      const hasPart = typeof content !== "string" && content.some(({ type }) => type !== "text");
      if (!hasPart) return [];
      return [{ role, isRead: typeof parsed[index]?.content !== "string" }];
    });
  });
  const count = (role: string, isRead: boolean) =>
    read.filter((each) => each.role === role && each.isRead === isRead).length;
  expect({
    system: [count("system", true), count("system", false)],
    developer: [count("developer", true), count("developer", false)],
  }).toEqual({ system: [53, 9], developer: [89, 18] });
});

const decode = (ids: readonly number[]) => o200kHarmony().decode(ids);
