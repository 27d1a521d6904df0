/** `@openrouter/sdk`: a loop of three calls over Chat Completions and Responses, plain and streamed; errors. */
import { OpenRouter } from "@openrouter/sdk";
import { BadRequestResponseError } from "@openrouter/sdk/models/errors";

const MODEL = "openai/gpt-oss-20b";
const { AGENT_URL, DEMO_URL, TASK } = process.env;
const PARAMETERS = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };

/** The SDK's types are for `/api/v1`. */
function createClient(url) {
  const serverURL = new URL("/api/v1", url).href;
  return new OpenRouter({ serverURL, apiKey: "none", retryConfig: { strategy: "none" } });
}

async function chatLoop(streamed) {
  const client = createClient(AGENT_URL);
  const tools = [{ type: "function", function: { name: "step", parameters: PARAMETERS } }];
  const messages = [{ role: "user", content: TASK }];
  const steps = [];
  for (;;) {
    const request = { model: MODEL, messages, tools, stream: streamed };
    const reply = await client.chat.send({ chatRequest: request });
    const message = streamed ? await collect(reply) : reply.choices[0].message;
    messages.push(message);
    if (!message.toolCalls?.length) {
      return { answer: message.content, reasoning: message.reasoning, steps };
    }
    for (const call of message.toolCalls) {
      const content = take(call.function.arguments, steps);
      messages.push({ role: "tool", toolCallId: call.id, content });
    }
  }
}

/** A message from the deltas of a stream, as the SDK has read them. */
async function collect(stream) {
  const message = { role: "assistant", content: "", reasoning: "", toolCalls: [] };
  for await (const { choices } of stream) {
    const { content, reasoning, toolCalls = [] } = choices[0]?.delta ?? {};
    message.content += content ?? "";
    message.reasoning += reasoning ?? "";
    for (const { index, id, function: made } of toolCalls) {
      const call = (message.toolCalls[index] ??= {
        id,
        type: "function",
        function: { name: made.name, arguments: "" },
      });
      call.function.arguments += made.arguments ?? "";
    }
  }
  return message;
}

async function responsesLoop(streamed) {
  const client = createClient(AGENT_URL);
  const tools = [{ type: "function", name: "step", parameters: PARAMETERS, strict: false }];
  const input = [{ type: "message", role: "user", content: TASK }];
  const steps = [];
  for (;;) {
    const request = { model: MODEL, input, tools, stream: streamed };
    const reply = await client.responses.send({ responsesRequest: request });
    const { output } = streamed ? await lastResponse(reply) : reply;
    input.push(...output);
    const calls = output.filter(({ type }) => type === "function_call");
    if (calls.length === 0) {
      const message = output.find(({ type }) => type === "message");
      return { answer: message.content.map(({ text }) => text).join(""), steps };
    }
    for (const { callId, arguments: json } of calls) {
      input.push({ type: "function_call_output", callId, output: take(json, steps) });
    }
  }
}

async function lastResponse(stream) {
  let last;
  for await (const event of stream) if (event.type === "response.completed") last = event.response;
  return last;
}

function take(json, steps) {
  const { n } = JSON.parse(json);
  steps.push(n);
  return `step ${n} is done`;
}

async function isUnknown(streamed) {
  const messages = [{ role: "user", content: "Hi" }];
  const request = { model: "openai/no-such-model", messages, stream: streamed };
  try {
    await createClient(DEMO_URL).chat.send({ chatRequest: request });
  } catch (error) {
    return (
      error instanceof BadRequestResponseError &&
      error.error.code === 400 &&
      error.message.includes("no-such-model")
    );
  }
  return false;
}

const plain = await chatLoop(false);
const same = (end) =>
  JSON.stringify([end.answer, end.steps]) === JSON.stringify([plain.answer, plain.steps]);
const streamed = await chatLoop(true);
console.log(
  JSON.stringify({
    answer: plain.answer,
    steps: plain.steps,
    checks: {
      "a streamed loop ends the same": same(streamed) && streamed.reasoning === plain.reasoning,
      "the reasoning is read": (plain.reasoning ?? "") !== "",
      "a loop over responses ends the same": same(await responsesLoop(false)),
      "a loop over streamed responses ends the same": same(await responsesLoop(true)),
      "an unknown model is an error": await isUnknown(false),
      "an unknown model is an error of a stream, too": await isUnknown(true),
    },
  }),
);
