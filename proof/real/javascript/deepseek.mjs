/** `@ai-sdk/deepseek`: a loop of three calls, plain and streamed, whose reasoning it sends back; an error. */
import { createDeepSeek } from "@ai-sdk/deepseek";
import { APICallError, generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";

const MODEL = "openai/gpt-oss-20b";
const { AGENT_URL, DEMO_URL, TASK } = process.env;

function model(baseURL, name = MODEL) {
  return createDeepSeek({ baseURL, apiKey: "none" })(name);
}

async function loop(streamed) {
  const steps = [];
  const step = tool({
    inputSchema: jsonSchema({
      type: "object",
      properties: { n: { type: "integer" } },
      required: ["n"],
    }),
    execute({ n }) {
      steps.push(n);
      return `step ${n} is done`;
    },
  });
  const request = {
    model: model(AGENT_URL),
    prompt: TASK,
    tools: { step },
    stopWhen: stepCountIs(8),
  };
  if (!streamed) {
    const { text, reasoningText } = await generateText(request);
    return { answer: text, reasoning: reasoningText, steps };
  }
  const result = streamText(request);
  return { answer: await result.text, reasoning: await result.reasoningText, steps };
}

async function isUnknown(streamed) {
  const request = { model: model(DEMO_URL, "no-such-model"), prompt: "Hi", maxRetries: 0 };
  let failure;
  try {
    if (streamed) {
      const { fullStream } = streamText({ ...request, onError() {} });
      for await (const part of fullStream) if (part.type === "error") failure = part.error;
    } else await generateText(request);
  } catch (error) {
    failure = error;
  }
  return APICallError.isInstance(failure) && failure.message.includes("no-such-model");
}

const plain = await loop(false);
const streamed = await loop(true);
console.log(
  JSON.stringify({
    answer: plain.answer,
    steps: plain.steps,
    checks: {
      "a streamed loop ends the same": JSON.stringify(streamed) === JSON.stringify(plain),
      "the reasoning is read": (plain.reasoning ?? "") !== "",
      "an unknown model is an error": await isUnknown(false),
      "an unknown model is an error of a stream, too": await isUnknown(true),
    },
  }),
);
