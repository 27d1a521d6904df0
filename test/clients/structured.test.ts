import { HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";
import OpenAI from "openai";
import { zodFunction, zodResponseFormat } from "openai/helpers/zod";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { createEngine } from "../../src/index.ts";
import { startTestGateway, type TestGateway } from "../helpers/gateway.ts";
import { recordingEngine } from "../helpers/recording-engine.ts";

const MODEL = "openai/gpt-oss-20b";
const city = z.object({ name: z.string(), inhabitants: z.int() });
const place = z.object({ city: z.string() });

const engine = recordingEngine(createEngine("demo", { model: "demo" }));
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({ engine });
});
afterAll(() => gateway.close());

function openai(): OpenAI {
  return new OpenAI({ baseURL: gateway.baseURL, apiKey: "none", maxRetries: 0 });
}

describe("openai's helpers over Chat Completions", () => {
  const response_format = zodResponseFormat(city, "city");
  const messages = [{ role: "user" as const, content: "A city, please." }];

  test("parse returns the parsed document", async () => {
    const completion = await openai().chat.completions.parse({
      model: MODEL,
      messages,
      response_format,
    });
    expect(city.safeParse(completion.choices[0]?.message.parsed).success).toBe(true);
  });

  test("stream returns it as well, and its deltas add up to it", async () => {
    let content = "";
    const stream = openai()
      .chat.completions.stream({ model: MODEL, messages, response_format })
      .on("content", (delta) => (content += delta));
    const completion = await stream.finalChatCompletion();
    const [choice] = completion.choices;
    expect(city.safeParse(choice?.message.parsed).success).toBe(true);
    expect(content).toBe(choice?.message.content);
  });

  test("parse returns the parsed arguments of a strict function", async () => {
    const completion = await openai().chat.completions.parse({
      model: MODEL,
      messages: [{ role: "user", content: "For Oslo: get_weather." }],
      tools: [zodFunction({ name: "get_weather", parameters: place })],
      tool_choice: "required",
    });
    const [call] = completion.choices[0]?.message.tool_calls ?? [];
    const parsed = call?.type === "function" ? call.function.parsed_arguments : undefined;
    expect(place.safeParse(parsed).success).toBe(true);
  });

  test.each([false, true])("runTools runs the tools to an answer, stream: %s", async (stream) => {
    const asked: string[] = [];
    const getWeather = zodFunction({
      name: "get_weather",
      parameters: place,
      function: (args) => {
        asked.push(args.city);
        return `Sunny in ${args.city}`;
      },
    });
    const body = {
      model: MODEL,
      messages: [{ role: "user" as const, content: "For Oslo: get_weather." }],
      tools: [getWeather],
    };
    const { completions } = openai().chat;
    const answer = stream
      ? await completions.runTools({ ...body, stream: true }).finalContent()
      : await completions.runTools({ ...body, stream: false }).finalContent();
    expect(asked.length).toBe(1);
    expect(answer).toContain("Sunny in");
  });
});

describe("LangGraph's agent with a response format", () => {
  test("requests the finished answer again as a document", async () => {
    const model = new ChatOpenAI({
      model: MODEL,
      apiKey: "none",
      maxRetries: 0,
      configuration: { baseURL: gateway.baseURL },
    });
    const getWeather = tool(({ city: where }) => `Sunny in ${where}`, {
      name: "get_weather",
      description: "The weather.",
      schema: place,
    });
    const agent = createReactAgent({ llm: model, tools: [getWeather], responseFormat: city });
    const { messages, structuredResponse } = await agent.invoke({
      messages: [new HumanMessage("For Oslo: get_weather.")],
    });
    const answer = z.string().parse(messages.at(-1)?.content);
    expect(answer).toContain("Sunny in Oslo");
    expect(city.safeParse(structuredResponse).success).toBe(true);
    const history = `<|channel|>final<|message|>${answer}<|end|><|start|>assistant`;
    expect(engine.prompts.some((prompt) => prompt.endsWith(history))).toBe(true);
  });
});
