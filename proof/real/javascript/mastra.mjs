/** Mastra: a loop of three calls, plain and streamed, whose reasoning it sends back; structured output; an error. */
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";

const MODEL = "openai/gpt-oss-20b";
const { AGENT_URL, DEMO_URL, TASK } = process.env;

function createAgent(url, model = MODEL, tools = {}) {
  return new Agent({
    id: "assistant",
    name: "Assistant",
    instructions: "Be brief.",
    model: { id: `gateway/${model}`, url, apiKey: "none" },
    tools,
    maxRetries: 0,
  });
}

async function loop(streamed) {
  const steps = [];
  const step = createTool({
    id: "step",
    description: "Takes step n.",
    inputSchema: z.object({ n: z.int() }),
    async execute({ n }) {
      steps.push(n);
      return `step ${n} is done`;
    },
  });
  const agent = createAgent(AGENT_URL, MODEL, { step });
  if (!streamed) {
    const { text, reasoningText } = await agent.generate(TASK, { maxSteps: 8 });
    return { answer: text, reasoning: reasoningText, steps };
  }
  const stream = await agent.stream(TASK, { maxSteps: 8 });
  for await (const _ of stream.fullStream);
  return { answer: await stream.text, reasoning: await stream.reasoningText, steps };
}

async function isObject() {
  const schema = z.object({ city: z.string(), inhabitants: z.int() });
  const { object } = await createAgent(DEMO_URL).generate("The capital of Portugal?", {
    structuredOutput: { schema },
  });
  return schema.safeParse(object).success;
}

async function isUnknown(streamed) {
  const agent = createAgent(DEMO_URL, "openai/no-such-model");
  let failure;
  try {
    if (streamed) {
      const stream = await agent.stream("Hi");
      for await (const part of stream.fullStream)
        if (part.type === "error") failure = part.payload.error;
    } else await agent.generate("Hi");
  } catch (error) {
    failure = error;
  }
  return failure?.message?.includes("no-such-model") === true;
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
      "an object by a JSON schema": await isObject(),
      "an unknown model is an error": await isUnknown(false),
      "an unknown model is an error of a stream, too": await isUnknown(true),
    },
  }),
);
