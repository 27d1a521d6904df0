import OpenAI from "openai";
import { afterEach, expect, test } from "vitest";
import { startTestGateway, type TestGateway } from "../../helpers/gateway.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { STEP_TOOL, analysisIn } from "../../helpers/tool-loop.ts";

/** Two analysis messages, a preamble and a call; then an answer. */
const SCRIPTS = [
  "<|channel|>analysis<|message|>First.<|end|><|start|>assistant" +
    "<|channel|>analysis<|message|>Second.<|end|><|start|>assistant" +
    "<|channel|>commentary<|message|>One moment.<|end|><|start|>assistant" +
    '<|channel|>commentary to=functions.step <|constrain|>json<|message|>{"n":1}<|call|>',
  "<|channel|>final<|message|>Done.<|return|>",
];

const TOOLS: OpenAI.ChatCompletionTool[] = [{ ...STEP_TOOL, type: "function" }];

let gateway: TestGateway;
afterEach(() => gateway.close());

type Ask = (
  client: OpenAI,
  body: OpenAI.ChatCompletionCreateParamsNonStreaming,
) => Promise<OpenAI.ChatCompletionMessage | undefined>;

const create: Ask = async (client, body) =>
  (await client.chat.completions.create(body)).choices[0]?.message;

const stream: Ask = async (client, body) =>
  client.chat.completions.stream({ ...body, stream: true }).finalMessage();

const cases: [string, Ask, string, number, string[]][] = [
  ["create", create, "raw", 1e6, ["First.", "Second."]],
  // The client has a single text, without the boundaries of messages.
  ["create, nothing kept", create, "raw", 1, ["First.\n\nSecond."]],
  ["create, sealed, nothing kept", create, "sealed", 1, ["First.", "Second."]],
  ["stream", stream, "raw", 1e6, ["First.", "Second."]],
  ["stream, sealed, nothing kept", stream, "sealed", 1, ["First.", "Second."]],
];

test.each(cases)("%s", async (_, ask, reasoningPolicy, storeMaxBytes, expected) => {
  const engine = scriptedEngine(SCRIPTS);
  const sealingKeys = [Buffer.alloc(32, "k").toString("base64url")];
  gateway = await startTestGateway({
    engine,
    settings: { reasoningPolicy, storeMaxBytes, sealingKeys },
  });
  const client = new OpenAI({ baseURL: gateway.baseURL, apiKey: "none", maxRetries: 0 });
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Go." }];
  const first = await ask(client, { model: "openai/gpt-oss-20b", messages, tools: TOOLS });
  if (first === undefined) throw new Error("no message");
  expect(first.content).toBe("One moment.");
  messages.push(first, {
    role: "tool",
    tool_call_id: first.tool_calls?.[0]?.id ?? "",
    content: "ok",
  });
  const last = await ask(client, { model: "openai/gpt-oss-20b", messages, tools: TOOLS });
  expect(last?.content).toBe("Done.");
  expect(analysisIn(engine.prompts[1])).toEqual(expected);
});
