import { describe, expect, test } from "vitest";
import {
  createOpenChatMLStream,
  fromHarmony,
  type Message,
  parseOpenChatML,
  readToolReply,
  renderOpenChatML,
  toHarmony,
} from "../../src/openchatml/index.ts";

const call = (extra: Partial<Message> = {}): Message => ({
  role: "assistant",
  to: "functions.f",
  callId: "a",
  channel: "commentary",
  content: "{}",
  end: "call",
  ...extra,
});
const reply = (extra: Partial<Message> = {}): Message => ({
  role: "tool",
  name: "functions.f",
  callId: "a",
  channel: "commentary",
  content: "r",
  end: "end",
  ...extra,
});
const answer: Message = {
  role: "assistant",
  channel: "final",
  implicitChannel: true,
  content: "hello",
  end: "end",
};
const harmonyProfile = { version: "2.2", profiles: { harmony: { enabled: true } } };
const render = (messages: readonly Message[], header: typeof harmonyProfile | null = null) =>
  renderOpenChatML({ header, messages });

describe("written documents", () => {
  test("address a reply to the assistant, if it has no recipient", () => {
    expect(render([reply()])).toBe(
      "<|start|>tool name=functions.f call_id=a to=assistant<|channel|>commentary<|message|>r<|end|>",
    );
    expect(render([reply({ to: "functions.g" })])).toContain(" to=functions.g<|channel|>");
  });

  test("name the channels that Harmony's profile requires", () => {
    const text = render([call(), reply({ channel: "final", implicitChannel: true }), answer], {
      ...harmonyProfile,
    });
    expect(text.split("\n").slice(5)).toEqual([
      "<|start|>assistant to=functions.f call_id=a<|channel|>commentary<|message|>{}<|call|>",
      "<|start|>tool name=functions.f call_id=a to=assistant<|channel|>commentary<|message|>r<|end|>",
      "<|start|>assistant<|channel|>final<|message|>hello<|end|>",
    ]);
    expect(parseOpenChatML(text).messages.map(({ channel }) => channel)).toEqual([
      "commentary",
      "commentary",
      "final",
    ]);
  });

  test("never have two calls with one id", () => {
    expect(() => render([call(), reply(), call({ content: '{"b":1}' })])).toThrow(
      expect.objectContaining({
        message: "E-PARSE-HEADER (message 2): call_id=a is used by two calls",
      }),
    );
  });

  test("quote texts in lists, as the format's own header does", () => {
    const builtins = ["browser", "python"];
    const header = {
      version: "2.2",
      model: "gpt-oss-120b",
      generation_settings: { builtin_tools: builtins },
      x: [{ a: "b", c: ["d"] }, 1, true],
    };
    const text = renderOpenChatML({ header, messages: [] });
    expect(text).toBe(
      [
        "version: 2.2",
        "model: gpt-oss-120b",
        "generation_settings:",
        '  builtin_tools: ["browser", "python"]',
        'x: [{a: "b", c: ["d"]}, 1, true]',
        "",
        "",
      ].join("\n"),
    );
    expect(parseOpenChatML(text).header).toEqual(header);
  });
});

describe("from Harmony", () => {
  test("writes an assistant message without a channel as final", () => {
    const { document } = fromHarmony([{ role: "assistant", content: "hello" }]);
    const text = renderOpenChatML(document);
    expect(text).toMatch(/<\|start\|>assistant<\|channel\|>final<\|message\|>hello<\|end\|>$/);
    expect(parseOpenChatML(text).messages).toMatchObject([{ channel: "final", content: "hello" }]);
  });

  test("gives a repeated id a new name, for the call and its reply", () => {
    const exchange = (result: string) => [
      {
        role: "assistant" as const,
        recipient: "functions.f",
        channel: "commentary",
        content: "{}",
      },
      { role: "tool" as const, name: "functions.f", content: result },
    ];
    const callIds = ["a", "a", "a", "a"];
    const messages = [...exchange("1"), ...exchange("2")];
    const { document, lossy } = fromHarmony(messages, { callIds });
    expect(document.messages.map(({ callId }) => callId)).toEqual(["a", "a", "call_1", "call_1"]);
    expect(lossy).toEqual(["call-id"]);
    expect(parseOpenChatML(renderOpenChatML(document)).warnings).toEqual([]);
  });
});

describe("to Harmony", () => {
  test.each([
    [
      "hidden commentary",
      "<|start|>assistant intent=status<|channel|>commentary<|message|>x<|end|>",
    ],
    ["a final message", "<|start|>assistant intent=debug<|channel|>final<|message|>x<|end|>"],
    ["a user's message", "<|start|>user intent=status<|message|>x<|end|>"],
    [
      "a call",
      "<|start|>assistant to=functions.f call_id=a intent=preamble<|channel|>commentary<|message|>{}<|call|>",
    ],
  ])("reports the intent of %s as lost", (_, text) => {
    expect(toHarmony(parseOpenChatML(text)).lossy).toContain("intent");
  });

  test("offers the built-in tools of the header in the prompt", () => {
    const text = [
      "version: 2.2",
      "generation_settings:",
      '  builtin_tools: ["browser", "python"]',
      "<|start|>user<|message|>Hi<|end|>",
    ].join("\n");
    const { messages, lossy } = toHarmony(parseOpenChatML(text), { mode: "prompt" });
    expect(messages[0]).toMatchObject({
      role: "system",
      content: [{ namespaces: [{ key: "browser" }, { key: "python" }] }],
    });
    expect(lossy).toEqual([]);
  });

  test.each([
    ["a name that is not a built-in tool", "[browser, bash]", ""],
    ["a text", "browser", ""],
    [
      "a system message of its own",
      "[browser]",
      "<|start|>system<|message|># Valid channels: final.<|end|>",
    ],
  ])("reports built-in tools as lost, given %s", (_, tools, system) => {
    const header = `version: 2.2\ngeneration_settings:\n  builtin_tools: ${tools}\n`;
    const text = `${header}${system}<|start|>user<|message|>Hi<|end|>`;
    const { lossy } = toHarmony(parseOpenChatML(text), { mode: "prompt" });
    expect(lossy).toEqual(["generation_settings.builtin_tools"]);
  });
});

describe("bodies", () => {
  test.each(["json", "JSON", "application/json", "Application/JSON;charset=utf-8", "a/b+json"])(
    "are checked as JSON under the constraint %s",
    (constrain) => {
      const text = (body: string) =>
        `<|start|>assistant<|channel|>final<|constrain|>${constrain}<|message|>${body}<|end|>`;
      expect(parseOpenChatML(text("[1]")).messages).toMatchObject([{ constrain, content: "[1]" }]);
      expect(() => parseOpenChatML(text("[1"))).toThrow(
        expect.objectContaining({ code: "E-BODY-CONSTRAINT-VIOLATION" }),
      );
    },
  );

  test.each(["text", "markdown", "jsonl", "application/xml"])(
    "are not checked under the constraint %s",
    (constrain) => {
      const message: Message = { ...answer, constrain, content: "[1" };
      expect(parseOpenChatML(render([message])).messages).toEqual([message]);
    },
  );

  const toolSchemas = {
    "functions.f": {
      type: "object",
      properties: { n: { type: "integer" } },
      required: ["n"],
      additionalProperties: false,
    },
  };
  const textOf = (args: string, constrain = "<|constrain|>json") =>
    `<|start|>assistant to=functions.f call_id=a<|channel|>commentary${constrain}<|message|>${args}<|call|>`;

  test.each([
    ['{"n":"1"}', "#/n: must be integer, not string"],
    ["{}", '#: lacks the property "n"'],
  ])("of a call are checked against its tool's schema, given %s", (args, problem) => {
    const message = `the arguments do not fit the schema of functions.f: ${problem}`;
    const misfit = (place: string) =>
      expect.objectContaining({
        code: "E-CALL-SCHEMA",
        message: `E-CALL-SCHEMA (message 0${place}): ${message}`,
      });
    const at = (text: string) => `, byte ${text.indexOf("<|call|>")}`;
    const [constrained, plain] = [textOf(args), textOf(args, "")];
    expect(() => parseOpenChatML(constrained, { toolSchemas })).toThrow(misfit(at(constrained)));
    expect(() => parseOpenChatML(plain, { toolSchemas })).toThrow(misfit(at(plain)));
    expect(parseOpenChatML(constrained).messages).toHaveLength(1);
    expect(() =>
      renderOpenChatML({ header: null, messages: [call({ content: args })] }, { toolSchemas }),
    ).toThrow(misfit(""));
    const stream = createOpenChatMLStream({ toolSchemas });
    expect(stream.push(constrained).at(-1)).toEqual({
      type: "error",
      error: misfit(at(constrained)),
    });
  });

  test("of a call to a tool with a schema are JSON", () => {
    const text = textOf("print(1)", "");
    expect(parseOpenChatML(text).messages).toHaveLength(1);
    expect(() => parseOpenChatML(text, { toolSchemas })).toThrow(
      "E-CALL-SCHEMA (message 0, byte 83): the arguments do not fit the schema of functions.f: they are not a JSON object",
    );
  });

  test("of a call may have a deadline that the tool's schema does not declare", () => {
    const args = '{"n":1,"deadline_ms":100}';
    expect(parseOpenChatML(textOf(args), { toolSchemas }).messages).toHaveLength(1);
  });

  test("of other tools are not checked against a schema", () => {
    const other = textOf("{}").replace("functions.f", "functions.constructor");
    expect(parseOpenChatML(other, { toolSchemas }).messages).toHaveLength(1);
  });

  test("cannot be checked against a schema that is not valid", () => {
    expect(() =>
      parseOpenChatML(textOf("{}"), { toolSchemas: { "functions.f": { type: 1 } } }),
    ).toThrow(
      new TypeError(
        "the schema of functions.f is not valid: /type: must be one or several of array, boolean, integer, null, number, object, string",
      ),
    );
  });

  test("of a reply have their provenance", () => {
    const provenance = { source: "s", timestamp: "2025" };
    expect(readToolReply(JSON.stringify({ ok: true, content: 1, provenance }))).toEqual({
      ok: true,
      content: 1,
      provenance,
    });
    expect(readToolReply('{"ok":true}')).toEqual({ ok: true, content: null });
  });
});

test("says completely what is wrong with a header that is nested too deeply", () => {
  const header = (value: string) => `version: 2.2\n${value}\n<|start|>user<|message|>x<|end|>`;
  const maps = Array.from({ length: 40 }, (_, depth) => `${" ".repeat(depth)}k:`).join("\n");
  expect(() => parseOpenChatML(header(maps))).toThrow(
    /^E-PARSE-HEADER \(message 0, byte \d+\): the document header: maps are nested too deeply$/,
  );
  expect(() => parseOpenChatML(header(`k: ${"[".repeat(40)}${"]".repeat(40)}`))).toThrow(
    /^E-PARSE-HEADER \(message 0, byte \d+\): the document header: lists are nested too deeply$/,
  );
});
