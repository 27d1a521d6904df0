import { createOpenResponses } from "@ai-sdk/open-responses";
import { createOpenAI } from "@ai-sdk/openai";
import { ChatOpenAI } from "@langchain/openai";
import { Agent, OpenAIResponsesModel, run, setTracingDisabled } from "@openai/agents";
import { streamText } from "ai";
import OpenAI from "openai";
import { afterEach, describe, expect, test } from "vitest";
import { EngineError } from "../../src/index.ts";
import { readEvents } from "../api/responses/support.ts";
import { startTestGateway, type TestGateway } from "../helpers/gateway.ts";
import { type Script, scriptedEngine } from "../helpers/scripted-engine.ts";

setTracingDisabled(true);

const MODEL = "openai/gpt-oss-20b";
const BEGUN =
  "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hel";
const BROKEN: Script = { write: BEGUN, fail: new EngineError("closed", "gone") };
const CUT: Script = { write: BEGUN, finish: "length" };

let gateway: TestGateway | undefined;

afterEach(async () => {
  await gateway?.close();
  gateway = undefined;
});

async function serve(script: Script): Promise<string> {
  gateway = await startTestGateway({ engine: scriptedEngine(() => script) });
  return gateway.baseURL;
}

function openai(baseURL: string): OpenAI {
  return new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
}

/** Reads a streamed answer to its end. Each client reports a broken stream in its own way. */
const CLIENTS: Readonly<Record<string, (baseURL: string) => Promise<unknown>>> = {
  "openai create": async (baseURL) => {
    const body = { model: MODEL, input: "Hi.", stream: true } as const;
    for await (const event of await openai(baseURL).responses.create(body)) void event;
  },
  "openai stream": (baseURL) =>
    openai(baseURL).responses.stream({ model: MODEL, input: "Hi." }).finalResponse(),
  "@ai-sdk/openai": async (baseURL) => {
    const model = createOpenAI({ baseURL, apiKey: "none" })(MODEL);
    return aiSdkText(model);
  },
  "@ai-sdk/open-responses": async (baseURL) => {
    const model = createOpenResponses({ name: "gateway", url: `${baseURL}/responses` })(MODEL);
    return aiSdkText(model);
  },
  "@openai/agents": async (baseURL) => {
    const model = new OpenAIResponsesModel(openai(baseURL), MODEL);
    const result = await run(new Agent({ name: "Agent", model }), "Hi.", { stream: true });
    await result.completed;
  },
  "@langchain/openai": async (baseURL) => {
    const model = new ChatOpenAI({
      model: MODEL,
      apiKey: "none",
      useResponsesApi: true,
      maxRetries: 0,
      configuration: { baseURL },
    });
    for await (const chunk of await model.stream("Hi.")) void chunk;
  },
  "what Codex reads": async (baseURL) => {
    const response = await fetch(`${baseURL}/responses`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: MODEL, input: "Hi.", stream: true }),
    });
    if (!response.ok) throw new Error(await response.text());
    // This client ignores `error`, and treats a stream without `response.completed` as broken.
    const last = (await readEvents(response)).at(-1);
    if (last?.type !== "response.completed") throw new Error(JSON.stringify(last));
  },
};

async function aiSdkText(model: Parameters<typeof streamText>[0]["model"]): Promise<void> {
  const result = streamText({ model, prompt: "Hi.", maxRetries: 0, onError: () => {} });
  for await (const part of result.fullStream) if (part.type === "error") throw part.error;
}

describe("every client reports a broken stream", () => {
  test.each(Object.entries(CLIENTS))("%s", async (_, read) => {
    await expect(read(await serve(BROKEN))).rejects.toThrow(
      "The engine closed the connection early.",
    );
  });
});

/** In the Workers runtime the engine stands behind HTTP, where it can only close the connection. */
const FAILED =
  process.env["TEST_RUNTIME"] === "workerd" ? /closed the connection early/ : /engine failed|502/i;

describe("every client reports an engine that fails at once", () => {
  test.each(Object.entries(CLIENTS))("%s", async (_, read) => {
    const baseURL = await serve({ write: "", fail: new EngineError("server-error", "gone") });
    await expect(read(baseURL)).rejects.toThrow(FAILED);
  });
});

describe("a cut answer is reported as incomplete", () => {
  test("openai", async () => {
    const baseURL = await serve(CUT);
    const stream = openai(baseURL).responses.stream({ model: MODEL, input: "Hi." });
    let last = "";
    for await (const { type } of stream) last = type;
    expect(last).toBe("response.incomplete");
    const response = await openai(baseURL).responses.create({ model: MODEL, input: "Hi." });
    expect(response).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      output_text: "Hel",
    });
  });

  test.each(["@ai-sdk/openai", "@ai-sdk/open-responses"])("%s", async (name) => {
    const baseURL = await serve(CUT);
    const model =
      name === "@ai-sdk/openai"
        ? createOpenAI({ baseURL, apiKey: "none" })(MODEL)
        : createOpenResponses({ name: "gateway", url: `${baseURL}/responses` })(MODEL);
    const result = streamText({ model, prompt: "Hi." });
    expect(await result.text).toBe("Hel");
    expect(await result.finishReason).toBe("length");
  });

  test("@langchain/openai", async () => {
    const model = new ChatOpenAI({
      model: MODEL,
      apiKey: "none",
      useResponsesApi: true,
      configuration: { baseURL: await serve(CUT) },
    });
    const message = await model.invoke("Hi.");
    expect(message.text).toBe("Hel");
    expect(message.response_metadata).toMatchObject({ status: "incomplete" });
  });
});
