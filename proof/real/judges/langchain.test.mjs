/** LangChain.js' standard tests of a chat model, for @langchain/openai over both APIs of OpenAI. */
import { ChatOpenAI } from "@langchain/openai";
import { ChatModelIntegrationTests } from "./repo/internal/standard-tests/src/vitest.ts";

const COMMON = {
  model: process.env.MODEL,
  apiKey: "none",
  configuration: { baseURL: process.env.GATEWAY_URL },
};

const APIS = {
  "Chat Completions": { ...COMMON, useResponsesApi: false },
  Responses: { ...COMMON, useResponsesApi: true },
};

for (const [name, constructorArgs] of Object.entries(APIS)) {
  const tests = new ChatModelIntegrationTests({
    Cls: ChatOpenAI,
    chatModelHasToolCalling: true,
    chatModelHasStructuredOutput: true,
    constructorArgs,
  });
  tests.runTests(name);
}
