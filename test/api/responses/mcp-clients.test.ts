/** MCP servers through OpenAI's Agents SDK, which answers requests for approval by itself, and through the AI SDK. */
import { createOpenAI } from "@ai-sdk/openai";
import {
  Agent,
  hostedMcpTool,
  OpenAIResponsesModel,
  Runner,
  setTracingDisabled,
} from "@openai/agents";
import { generateText, streamText } from "ai";
import { expect, test } from "vitest";
import { createMcpApp } from "../../helpers/mcp-app.ts";
import { startMcpServer } from "../../helpers/mcp-server.ts";
import { MODEL } from "../../helpers/browsing-app.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";

// Traces would go to OpenAI.
setTracingDisabled(true);

const LOOK =
  ' to=words.look_up<|channel|>commentary <|constrain|>json<|message|>{"word":"cat"}<|call|>';
const FINAL = "<|channel|>final<|message|>It is an animal.<|return|>";

test.each([false, true])(
  "Agents SDK: a call is approved, made and answered; streamed: %s",
  async (stream) => {
    const { url, calls } = await startMcpServer();
    const engine = scriptedEngine([LOOK, FINAL]);
    const { client } = createMcpApp({ engine, settings: { mcpServers: { words: { url } } } });
    const asked: string[] = [];
    const agent = new Agent({
      name: "Reader",
      model: new OpenAIResponsesModel(client, MODEL),
      tools: [
        hostedMcpTool({
          serverLabel: "words",
          requireApproval: "always",
          onApproval: (_, { rawItem }) => {
            asked.push(rawItem.type);
            return Promise.resolve({ approve: true });
          },
        }),
      ],
    });
    const runner = new Runner();
    const result = stream
      ? await runner.run(agent, "cat?", { stream: true })
      : await runner.run(agent, "cat?");
    if ("completed" in result) await result.completed;
    expect(result.finalOutput).toBe("It is an animal.");
    expect(asked).toHaveLength(1);
    expect(calls).toEqual([{ name: "look.up", arguments: { word: "cat" } }]);
  },
);

test.each([false, true])(
  "AI SDK: a call of a server that the request names; streamed: %s",
  async (stream) => {
    const { url, calls } = await startMcpServer();
    const engine = scriptedEngine([LOOK, FINAL]);
    const { send } = createMcpApp({ engine, settings: { mcpFromRequests: ["any"] } });
    const openai = createOpenAI({ baseURL: "http://localhost/v1", apiKey: "none", fetch: send });
    const request = {
      model: openai.responses(MODEL),
      prompt: "cat?",
      tools: {
        words: openai.tools.mcp({ serverLabel: "words", serverUrl: url, requireApproval: "never" }),
      },
    };
    const result = stream ? streamText(request) : await generateText(request);
    expect(await result.text).toBe("It is an animal.");
    expect(await result.toolResults).toMatchObject([
      { output: { name: "look.up", output: "found" } },
    ]);
    expect(calls).toEqual([{ name: "look.up", arguments: { word: "cat" } }]);
  },
);
