import { createOpenResponses } from "@ai-sdk/open-responses";
import { createOpenAI } from "@ai-sdk/openai";
import { ChatOpenAI } from "@langchain/openai";
import { generateText, type LanguageModel, Output } from "ai";
import OpenAI from "openai";
import { zodResponsesFunction, zodTextFormat } from "openai/helpers/zod";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { startTestGateway, type TestGateway } from "../helpers/gateway.ts";

const MODEL = "openai/gpt-oss-20b";
const city = z.object({ name: z.string(), inhabitants: z.int() });

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

function openai(): OpenAI {
  return new OpenAI({ baseURL: gateway.baseURL, apiKey: "none", maxRetries: 0 });
}

describe("a JSON schema is enforced, requested by", () => {
  test("openai parse", async () => {
    const response = await openai().responses.parse({
      model: MODEL,
      input: "A city, please.",
      text: { format: zodTextFormat(city, "city") },
    });
    expect(city.safeParse(response.output_parsed).success).toBe(true);
  });

  test("openai stream", async () => {
    const stream = openai().responses.stream({
      model: MODEL,
      input: "A city, please.",
      text: { format: zodTextFormat(city, "city") },
    });
    const response = await stream.finalResponse();
    expect(city.safeParse(response.output_parsed).success).toBe(true);
  });

  test.each<[string, () => LanguageModel]>([
    ["@ai-sdk/openai", () => createOpenAI({ baseURL: gateway.baseURL, apiKey: "none" })(MODEL)],
    [
      "@ai-sdk/open-responses",
      () => createOpenResponses({ name: "gateway", url: `${gateway.baseURL}/responses` })(MODEL),
    ],
  ])("%s", async (_, model) => {
    const { output } = await generateText({
      model: model(),
      prompt: "A city, please.",
      output: Output.object({ schema: city }),
    });
    expect(city.safeParse(output).success).toBe(true);
  });

  test("@langchain/openai", async () => {
    const model = new ChatOpenAI({
      model: MODEL,
      apiKey: "none",
      useResponsesApi: true,
      configuration: { baseURL: gateway.baseURL },
    }).withStructuredOutput(city, { method: "jsonSchema", strict: true });
    expect(city.safeParse(await model.invoke("A city, please.")).success).toBe(true);
  });
});

test("strict arguments are enforced", async () => {
  const response = await openai().responses.parse({
    model: MODEL,
    input: "Use save_city for Oslo.",
    tools: [zodResponsesFunction({ name: "save_city", parameters: city })],
    tool_choice: "required",
  });
  const call = response.output.find((item) => item.type === "function_call");
  expect(city.safeParse(call?.parsed_arguments).success).toBe(true);
});
