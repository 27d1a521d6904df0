/** Schemas that a reply must satisfy, over both APIs: refused before the engine is called, or enforced. */
import { describe, expect, test } from "vitest";
import { createTestApp } from "../../helpers/app.ts";
import { scriptedEngine, type Script } from "../../helpers/scripted-engine.ts";
import { responsesApp } from "../responses/support.ts";

const answer = (text: string) =>
  `<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>${text}<|return|>`;
const call = (name: string, args: string) =>
  `<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>${args}<|call|>`;

interface Reply {
  readonly status: number;
  readonly body: {
    readonly error?: { readonly message: string; readonly param: string | null };
    readonly choices?: readonly {
      readonly finish_reason: string;
      readonly message: { readonly content: string | null };
      readonly error?: { readonly message: string };
    }[];
  };
  /** Number of engine calls. */
  readonly engineCalls: number;
}

const messages = [{ role: "user", content: "hi" }];

async function chat(body: object, scripts: readonly Script[] = []): Promise<Reply> {
  const engine = scriptedEngine(scripts);
  const response = await createTestApp({ engine }).post({
    model: "openai/gpt-oss-20b",
    messages,
    ...body,
  });
  const { status } = response;
  return { status, body: JSON.parse(await response.text()), engineCalls: engine.requests.length };
}

function format(schema: unknown): object {
  return { response_format: { type: "json_schema", json_schema: { name: "out", schema } } };
}

function tool(name: string, parameters: unknown, strict = false): object {
  return { type: "function", function: { name, parameters, strict } };
}

/** Each of these schemas once caused a 500 without explanation after the answer had been generated. */
const BROKEN: readonly (readonly [string, unknown, RegExp])[] = [
  ["a reference to nothing", { $ref: "#/$defs/none" }, /\/\$ref: .*leads nowhere/],
  ["a remote reference", { $ref: "https://example.com/s.json" }, /references are not fetched/],
  ["a reference to itself", { $ref: "#" }, /without end/],
  ["a circle", { allOf: [{ $ref: "#/$defs/a" }], $defs: { a: { not: { $ref: "#" } } } }, /end/],
  ["a broken pattern", { pattern: "(" }, /\/pattern: "\(" is not a regular expression/],
  ["a lookbehind", { pattern: "(?<!a)b" }, /\/pattern: .*lookbehind.*linear time/],
  ["a backreference", { pattern: String.raw`(a)\1` }, /backreference/],
  ["a name pattern", { patternProperties: { "(a)\\1": {} } }, /\/patternProperties\/\(a\)\\1/],
  ["null for properties", { properties: null }, /\/properties: must be an object/],
  ["a number for required", { required: 7 }, /\/required: must be an array/],
  ["a number for enum", { enum: 7 }, /\/enum: must be an array/],
  ["a number for allOf", { allOf: 5 }, /\/allOf: must be an array/],
  [
    "an unknown type",
    { properties: { a: { type: "text" } } },
    /\/properties\/a\/type: must be one/,
  ],
  ["one $id twice", { $defs: { a: { $id: "x" }, b: { $id: "x" } } }, /two different schemas/],
  ["a bomb", bomb(26), /applies more than 5000 schemas to one value/],
];

function bomb(depth: number): unknown {
  const $defs: Record<string, unknown> = { [`a${depth}`]: { type: "object" } };
  for (let level = 0; level < depth; level++) {
    const $ref = `#/$defs/a${level + 1}`;
    $defs[`a${level}`] = { allOf: [{ $ref }, { $ref }] };
  }
  return { $ref: "#/$defs/a0", $defs };
}

describe("a schema that cannot be enforced is a 400 before the engine is asked", () => {
  test.each(BROKEN)("%s, as a response format", async (_, schema, reason) => {
    const { status, body, engineCalls } = await chat(format(schema));
    expect([status, engineCalls]).toEqual([400, 0]);
    expect(body.error).toMatchObject({
      param: "response_format.json_schema.schema",
      message: expect.stringMatching(reason),
    });
  });

  test.each(BROKEN)("%s, of a strict tool", async (_, schema, reason) => {
    const { status, body, engineCalls } = await chat({
      tools: [tool("fine", { type: "object" }, true), tool("f", schema, true)],
    });
    expect([status, engineCalls]).toEqual([400, 0]);
    expect(body.error).toMatchObject({
      param: "tools[1].function.parameters",
      message: expect.stringMatching(reason),
    });
  });

  test.each([
    ["a named tool", { type: "function", function: { name: "f" } }],
    ["any tool", "required"],
    [
      "one of several",
      {
        type: "allowed_tools",
        allowed_tools: {
          mode: "required",
          tools: [{ type: "function", function: { name: "f" } }],
        },
      },
    ],
  ])("of a call that is required: %s", async (_, tool_choice) => {
    const { status, body, engineCalls } = await chat({
      tools: [tool("f", { required: 7 })],
      tool_choice,
    });
    expect([status, engineCalls]).toEqual([400, 0]);
    expect(body.error?.param).toBe("tools[0].function.parameters");
  });

  test("of a required call in the old fields", async () => {
    const { status, body } = await chat({
      functions: [{ name: "f", parameters: { required: 7 } }],
      function_call: { name: "f" },
    });
    expect([status, body.error?.param]).toEqual([400, "functions[0].parameters"]);
  });

  test.each([
    [{ text: { format: { type: "json_schema", name: "out", schema: {} } } }, "text.format.schema"],
    [{ tools: [{ type: "function", name: "f", strict: true }] }, "tools[0].parameters"],
    [{ tools: [{ type: "function", name: "f" }], tool_choice: "required" }, "tools[0].parameters"],
  ])("over the Responses API: %j", async (given, param) => {
    const broken = JSON.parse(
      JSON.stringify(given)
        .replace('"schema":{}', '"schema":{"$ref":"#"}')
        .replace('"name":"f"', '"name":"f","parameters":{"$ref":"#"}'),
    );
    const engine = scriptedEngine([]);
    const response = await responsesApp({ engine }).send("POST", "/v1/responses", {
      model: "openai/gpt-oss-20b",
      input: "hi",
      ...broken,
    });
    expect([response.status, engine.requests.length]).toEqual([400, 0]);
    expect(await response.json()).toMatchObject({ error: { param } });
  });
});

describe("a schema that is only shown to the model is never refused", () => {
  test.each(BROKEN)("%s", async (_, schema) => {
    const { status } = await chat({ tools: [tool("f", schema)] }, [answer("ok")]);
    expect(status).toBe(200);
  });

  test("nor is the schema of a tool beside the required one", async () => {
    const { status } = await chat(
      {
        tools: [tool("broken", { required: 7 }), tool("f", { type: "object" })],
        tool_choice: { type: "function", function: { name: "f" } },
      },
      ["<|channel|>analysis<|message|>Hm.<|end|>", "{}<|call|>"],
    );
    expect(status).toBe(200);
  });
});

const LETTERS = `${"a".repeat(40)}!`;
const CATASTROPHIC = ["^(a+)+$", "^(a+)+$|^a+$", "^(a|a)*$", "^(a|aa)+$"];

describe("patterns that backtrack exponentially in other engines are checked in linear time", () => {
  test.each(CATASTROPHIC)("%s, in an answer", async (pattern) => {
    const schema = { properties: { a: { type: "string", pattern } } };
    const { body } = await chat(format(schema), [
      answer(`{"a":"${LETTERS}"}`),
      '{"a":"aa"}<|return|>',
    ]);
    expect(body.choices?.[0]).toMatchObject({
      finish_reason: "stop",
      message: { content: '{"a":"aa"}' },
    });
  });

  test.each(CATASTROPHIC)("%s, of a name", async (pattern) => {
    const schema = { patternProperties: { [pattern]: { type: "string" } } };
    const written = `{"${LETTERS}":1}`;
    const { body } = await chat(format(schema), [answer(written)]);
    expect(body.choices?.[0]?.message.content).toBe(written);
  });

  test.each(CATASTROPHIC)("%s, in the arguments of a strict tool", async (pattern) => {
    const tools = [tool("f", { properties: { a: { pattern } } }, true)];
    const wrong = call("f", `{"a":"${LETTERS}"}`);
    const { body } = await chat({ tools }, [wrong, `{"a":"${LETTERS}"}<|call|>`]);
    expect(body.choices?.[0]?.finish_reason).toBe("error");
  });

  test.each(CATASTROPHIC)("%s, in an answer the client began", async (pattern) => {
    const given = [...messages, { role: "assistant", content: `{"a":"${LETTERS.slice(0, -1)}` }];
    const schema = { properties: { a: { pattern } } };
    const { body } = await chat({ ...format(schema), messages: given }, [
      '!"}<|return|>',
      '!"}<|return|>',
    ]);
    expect(body.choices?.[0]?.finish_reason).toBe("error");
  });

  test("and still match the other alternative", async () => {
    const schema = { properties: { a: { pattern: "^(a+)+$|^a+!$" } } };
    const { body } = await chat(format(schema), [answer(`{"a":"${LETTERS}"}`)]);
    expect(body.choices?.[0]?.finish_reason).toBe("stop");
  });
});

test("a pattern is enforced: the model receives the reason and retries once", async () => {
  const schema = {
    properties: { day: { type: "string", pattern: String.raw`^\d{4}-\d\d-\d\d$` } },
    required: ["day"],
  };
  const engine = scriptedEngine([answer('{"day":"tomorrow"}'), '{"day":"2026-11-21"}<|return|>']);
  const response = await createTestApp({ engine }).post({
    model: "openai/gpt-oss-20b",
    messages,
    ...format(schema),
  });
  expect(await response.json()).toMatchObject({
    choices: [{ finish_reason: "stop", message: { content: '{"day":"2026-11-21"}' } }],
  });
  expect(engine.prompts[1]).toContain(
    String.raw`The answer was rejected: #/day: must match the pattern ^\d{4}-\d\d-\d\d$.`,
  );
});

test("the answers of n choices are checked by one compiled schema", async () => {
  const { body } = await chat({ ...format({ required: ["a"] }), n: 2 }, [
    answer('{"a":1}'),
    answer('{"a":2}'),
  ]);
  expect(body.choices?.map((choice) => choice.finish_reason)).toEqual(["stop", "stop"]);
});
