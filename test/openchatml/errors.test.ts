/** Invalid texts, each with its exact error message. */
import { describe, expect, test } from "vitest";
import {
  createOpenChatMLStream,
  fromHarmony,
  type Message,
  OpenChatMLError,
  parseOpenChatML,
  renderOpenChatML,
  type StreamEvent,
  viewOpenChatML,
} from "../../src/openchatml/index.ts";
import { readYaml, YamlError } from "../../src/openchatml/yaml.ts";

/** The message of the error that ends a stream. */
function endOf(events: readonly StreamEvent[]): string {
  const last = events.at(-1);
  return last?.type === "error" ? last.error.message : "no error";
}

function messageOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof OpenChatMLError || error instanceof YamlError) return error.message;
    throw error;
  }
  return "no error";
}

test.each([
  ["a: 1\n\tb: 2", "a tab in the indentation"],
  ["a: 1\n  b: 2", "the indentation matches no line above"],
  [`a:\n${nested(34)}`, "maps are nested too deeply"],
  [`a: ${"[".repeat(40)}`, "lists are nested too deeply"],
  ["a: 1\na: 2", "the key a is repeated"],
  ["a: {b: 1, b: 2}", "the key b is repeated"],
  ["a", "expected a key, a colon and a value"],
  ['"a" b: 1', "unexpected text after a quoted key"],
  ['a: "b" c', "unexpected text after a value"],
  ["a: [1", "a list or map is not closed on its line"],
  ["a: ['b' c]", "a list that is not closed"],
  ["a: {b: 'c' d: 1}", "a map that is not closed"],
  ["a: 'b", "a quoted text is not closed"],
  ['a: "b', "a quoted text is not closed"],
  ['a: "\\x"', "an escape that JSON does not support"],
  ["a: &b", "& begins no plain text"],
  ["a: - b", "expected text, found punctuation"],
  ["a: [, b]", "a text is missing"],
  ["a: b: c", "a colon inside text: quote the text"],
])("the YAML %j", (text, message) => {
  expect(messageOf(() => readYaml(text, new Set()))).toBe(message);
});

/** Maps inside one another. */
function nested(depth: number): string {
  return Array.from({ length: depth }, (_, at) => `${" ".repeat(at + 1)}a:\n`).join("");
}

const user = "<|start|>user<|message|>Hi<|end|>";
const json = "<|channel|>commentary<|constrain|>json<|message|>";

describe("the document", () => {
  test.each([
    ["<|start|><|message|>Hi<|end|>", "E-PARSE-HEADER (message 0, byte 9): the role is missing"],
    [
      "<|start|>User<|message|>Hi<|end|>",
      'E-PARSE-HEADER (message 0, byte 13): "User" is not a role',
    ],
    [
      "<|start|>user to=<|message|>Hi<|end|>",
      'E-PARSE-HEADER (message 0, byte 17): "to=" is not an attribute',
    ],
    [
      "<|start|>user intent=a intent=b<|message|>Hi<|end|>",
      "E-PARSE-HEADER (message 0, byte 31): intent= is repeated",
    ],
    [
      "<|start|>user name=a\u0001b<|message|>Hi<|end|>",
      'E-PARSE-HEADER (message 0, byte 22): "name=a\\u0001b" contains a control character',
    ],
    [
      "<|start|>assistant<|channel|><|message|>Hi<|end|>",
      "E-PARSE-HEADER (message 0, byte 29): the channel is missing",
    ],
    [
      "<|start|>assistant<|channel|>answer<|message|>Hi<|end|>",
      'E-PARSE-HEADER (message 0, byte 35): "answer" is not a channel: expected analysis, commentary or final',
    ],
    [
      `<|start|>assistant call_id=a to=functions.f${json.replace("json", "")}{}<|call|>`,
      "E-PARSE-HEADER (message 0, byte 77): the constraint after <|constrain|> must be one word",
    ],
    [
      "<|start|>assistant to=functions.f<|channel|>commentary call_id=a<|message|>{}<|call|>",
      "E-PARSE-HEADER (message 0, byte 64): call_id= must stand before the channel",
    ],
    [
      "<|start|>assistant call_id=a to=functions.f<|channel|>commentary to=functions.g<|message|>{}<|call|>",
      'E-PARSE-HEADER (message 0, byte 79): to= is "functions.f" in one place and "functions.g" in another',
    ],
    [
      "<|start|>functions.f name=functions.g call_id=a<|channel|>commentary<|message|>x<|end|>",
      "E-PARSE-HEADER (message 0, byte 68): the author is functions.f and the name functions.g",
    ],
    [
      "<|start|>tool call_id=a<|channel|>commentary<|message|>x<|end|>",
      "E-PARSE-HEADER (message 0, byte 44): a tool needs a name=",
    ],
    [
      `<|start|>assistant to=functions.f${json}{}<|call|>`,
      "E-PARSE-HEADER (message 0, byte 71): a call needs a call_id=",
    ],
    [
      "<|start|>functions.f<|channel|>commentary<|message|>x<|end|>",
      "E-PARSE-HEADER (message 0, byte 41): a reply needs a call_id=",
    ],
    [
      `<|start|>assistant call_id=a to=functions.f${json}{}<|call|>`.repeat(2),
      "E-PARSE-HEADER (message 1, byte 183): call_id=a is used by two calls",
    ],
    [
      "<|start|>assistant call_id=a to=functions.f<|channel|>final<|message|>{}<|call|>",
      "E-PARSE-HEADER (message 0, byte 59): a call of functions.f belongs on commentary, not on final",
    ],
    [
      "<|start|>user<|message|>Hi<|call|>",
      "E-PARSE-HEADER (message 0, byte 26): <|call|> closes a message that is not a call",
    ],
    [
      `<|start|>assistant call_id=a to=functions.f${json}[]<|call|>`,
      "E-CALL-SCHEMA (message 0, byte 94): the arguments are not an object",
    ],
    [
      "<|start|>assistant call_id=a to=functions.f<|channel|>commentary<|message|> <|call|>",
      "E-CALL-SCHEMA (message 0, byte 76): the arguments are missing",
    ],
    [
      "<|start|>user<|end|>",
      "E-PARSE-HEADER (message 0, byte 13): <|end|> is not allowed inside a header",
    ],
    [
      `${user.slice(0, -7)}<|start|>`,
      "E-PARSE-HEADER (message 0, byte 26): <|start|> inside a body: to write it as text, escape it as <<|start|>",
    ],
    [
      `<|start|>${"x".repeat(20_000)}`,
      "E-PARSE-HEADER (message 0, byte 20009): the header is too long",
    ],
  ])("%.100s", (text, message) => {
    expect(messageOf(() => parseOpenChatML(text))).toBe(message);
  });

  test("a body that is not the JSON it claims to be", () => {
    const text = `<|start|>assistant call_id=a to=functions.f${json}{<|call|>`;
    expect(messageOf(() => parseOpenChatML(text))).toMatch(
      /^E-BODY-CONSTRAINT-VIOLATION \(message 0, byte 93\): the body is not JSON: \w/,
    );
  });

  test("headers that are required, or too long", () => {
    expect(messageOf(() => parseOpenChatML(user, { requireHeader: true }))).toBe(
      "E-PARSE-HEADER (message 0, byte 0): the document header is missing",
    );
    const stream = createOpenChatMLStream();
    expect(endOf(stream.push(`---\n${"# long\n".repeat(60_000)}`))).toBe(
      "E-PARSE-HEADER (message 0, byte 0): the document header is too long",
    );
  });

  test("Harmony's profile requires channels", () => {
    const text = "<|start|>assistant<|message|>Hi<|end|>";
    expect(messageOf(() => parseOpenChatML(text, { hip1: true }))).toBe(
      "E-PARSE-CHANNEL-MISSING (message 0, byte 18): with Harmony's profile, every assistant message needs a channel",
    );
  });

  test("a stream whose last message does not end the turn", () => {
    const stream = createOpenChatMLStream({ prefill: "assistant" });
    stream.push("<|channel|>final<|message|>Hi<|end|>");
    expect(endOf(stream.end())).toBe(
      "E-STREAM-TRUNCATED: the stream ends without <|return|> or <|call|>",
    );
  });

  test("a stream that stops, or whose ids collide", () => {
    const stopped = createOpenChatMLStream({ prefill: "assistant" });
    stopped.push("<|channel|>final<|message|>Hi");
    expect(endOf(stopped.end())).toBe(
      "E-STREAM-TRUNCATED (message 0, byte 29): the input ends inside a body",
    );
    const collided = createOpenChatMLStream({ lenient: true });
    const call = (id: string) => `<|start|>assistant${id} to=functions.f${json}{}<|call|>`;
    expect(endOf(collided.push(call("") + call(" call_id=call_1")))).toBe(
      "E-PARSE-HEADER: a call_id= in the text equals one that was generated earlier",
    );
  });

  test("analysis in a view for users", () => {
    const document = parseOpenChatML(user);
    expect(messageOf(() => viewOpenChatML(document, { channels: ["analysis"] }))).toBe(
      "E-PERM-VISIBILITY: analysis is shown only in a debug view",
    );
  });
});

describe("messages that cannot be written", () => {
  const call: Message = {
    role: "assistant",
    to: "functions.f",
    callId: "a",
    channel: "commentary",
    content: "{}",
    end: "call",
  };
  const { callId: _, ...withoutId } = call;

  test.each<[Message, string]>([
    [
      { ...call, constrain: "a b" },
      'constraint "a b" cannot be written: a header value is one word, without spaces and control characters',
    ],
    [withoutId, "a call needs a call id"],
    [
      { role: "tool", callId: "a", channel: "commentary", content: "", end: "end" },
      "a tool needs a name",
    ],
  ])("%j", (message, problem) => {
    expect(messageOf(() => renderOpenChatML({ header: null, messages: [message] }))).toContain(
      problem,
    );
  });

  test("Harmony's with a channel that OpenChatML does not have", () => {
    const message = {
      role: "assistant",
      channel: "other",
      content: [{ type: "text", text: "x" }],
    } as const;
    expect(messageOf(() => fromHarmony([message]))).toContain('OpenChatML has no channel "other"');
  });
});
