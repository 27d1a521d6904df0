/** A gateway whose model writes the turns that the inspector's tests need, slowly enough to be observed. */
import type { Engine } from "../../src/index.ts";
import { type Script, scriptedEngine } from "../helpers/scripted-engine.ts";
import { startTestGateway, type TestGateway } from "../helpers/gateway.ts";
import { STEP_TOOL } from "../helpers/tool-loop.ts";

export const TOKEN = "token-of-the-browser-test";
export const MODEL = "openai/gpt-oss-20b";

/** An engine that waits for `pace` before each read of tokens. */
export function pacedEngine(scripts: readonly Script[], pace: () => Promise<void>): Engine {
  const engine = scriptedEngine(scripts);
  return {
    ...engine,
    name: "vllm",
    async *complete(request, signal) {
      for await (const event of engine.complete(request, signal)) {
        if (event.type === "ids") await pace();
        yield event;
      }
    },
  };
}

export function startInspected(engine: Engine, settings: object = {}): Promise<TestGateway> {
  return startTestGateway({ engine, settings: { inspect: true, inspectKey: TOKEN, ...settings } });
}

export async function post(
  gateway: TestGateway,
  body: object,
  headers: Record<string, string> = {},
  path = "/chat/completions",
): Promise<string> {
  const response = await fetch(`${gateway.baseURL}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: MODEL, ...body }),
  });
  return response.text();
}

const BOOK = {
  type: "function",
  function: {
    name: "book_table",
    description: "Books a table.",
    strict: true,
    parameters: {
      type: "object",
      properties: { restaurant: { type: "string" }, guests: { type: "integer" } },
      required: ["restaurant", "guests"],
      additionalProperties: false,
    },
  },
};

export const STEERED = {
  scripts: [
    "The user wants a table at Maaemo for four. I should call book_table with the name and the number of guests.<|end|>",
    '{"restaurant":"Maaemo","guests":"four"}<|call|>',
    '{"restaurant":"Maaemo","guests":4}<|call|>',
  ],
  body: {
    messages: [{ role: "user", content: "Book a table for four at Maaemo, please." }],
    tools: [BOOK],
    tool_choice: "required",
  },
};

export const RECOVERED = {
  scripts: [
    "<|channel|>analysis<|message|>A greeting in Norwegian is asked for. “God morgen” fits before noon." +
      "<|channel|>final<|message|>You can say **God morgen** until noon, and *God dag* after it.<|end|>" +
      "<|start|>user<|message|>Thanks!<|end|>",
  ],
  body: { messages: [{ role: "user", content: "How do I greet people in Norway?" }] },
};

const call = (id: string, n: number) => [
  { id, type: "function", function: { name: "step", arguments: JSON.stringify({ n }) } },
];

export const TOOL_LOOP = {
  scripts: [
    "<|channel|>analysis<|message|>Both steps are done now, so I can sum up.<|end|><|start|>assistant" +
      "<|channel|>final<|message|>Both steps are done: the second gave 42.<|return|>",
  ],
  body: {
    tools: [STEP_TOOL],
    messages: [
      { role: "user", content: "What is 6 times 7?" },
      { role: "assistant", reasoning: "That is 42, as everybody knows.", content: "42." },
      { role: "user", content: "Now take both steps." },
      {
        role: "assistant",
        reasoning: "The first step comes first.",
        content: null,
        tool_calls: call("call_a", 1),
      },
      { role: "tool", tool_call_id: "call_a", content: "first step done" },
      {
        role: "assistant",
        reasoning: "Now the second one.",
        content: null,
        tool_calls: call("call_b", 2),
      },
      { role: "tool", tool_call_id: "call_b", content: "42" },
    ],
  },
};
