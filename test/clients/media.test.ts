/** Images, files and compaction, sent and read by released clients. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { ChatAnthropic } from "@langchain/anthropic";
import { HumanMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { Agent, OpenAIResponsesModel, run, setTracingDisabled, tool, user } from "@openai/agents";
import { generateText, streamText } from "ai";
import OpenAI from "openai";
import { describe, expect, onTestFinished, test } from "vitest";
import { ON_WORKERS, startTestGateway } from "../helpers/gateway.ts";
import { pdfOf } from "../helpers/pdf.ts";
import { type Script, scriptedEngine } from "../helpers/scripted-engine.ts";
import { pngOf } from "../helpers/png.ts";
import { sendDescription, startVisionServer, type VisionAnswer } from "../helpers/vision-server.ts";

setTracingDisabled(true);

const MODEL = "openai/gpt-oss-20b";
const ANSWER = "<|channel|>final<|message|>A cat.<|return|>";
const SUMMARY = "<|channel|>final<|message|>They said hello.<|return|>";
const PNG = pngOf(640, 480);
const DATA_URL = `data:image/png;base64,${PNG}`;
const PDF = pdfOf(["First page"]).toString("base64");
const DESCRIBED =
  /\[Image 1, PNG of 640 × 480 pixels\. [^\]]*:\]\n> A cat on a mat\.\n\[End of image 1\]/;
const READ = /\[File [^\]]*PDF of 1 page:\]\n\[Page 1\]\nFirst page\n\[End of File/;
const QUESTION = "What is this?";
const KEEP_ALIVE_MS = 20;

const DESCRIPTION = "A cat on a mat.";

async function start(scripts: readonly Script[] = [ANSWER], { isSlow = false } = {}) {
  const later: VisionAnswer = (response) =>
    void setTimeout(() => sendDescription(response, DESCRIPTION), 10 * KEEP_ALIVE_MS);
  const vision = await startVisionServer(() => (isSlow ? later : DESCRIPTION));
  const engine = scriptedEngine(scripts);
  const settings = { ...vision.settings, ...(isSlow && { keepAliveMs: KEEP_ALIVE_MS }) };
  const gateway = await startTestGateway({ engine, settings });
  onTestFinished(() => gateway.close());
  const { baseURL, origin } = gateway;
  return {
    engine,
    vision,
    baseURL,
    openai: new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 }),
    anthropic: new Anthropic({ baseURL: origin, apiKey: "none", maxRetries: 0 }),
    langchain: new ChatOpenAI({ model: MODEL, apiKey: "none", configuration: { baseURL } }),
    langchainAnthropic: new ChatAnthropic({
      model: MODEL,
      apiKey: "none",
      anthropicApiUrl: origin,
      maxTokens: 100,
    }),
    ai: {
      openai: createOpenAI({ baseURL, apiKey: "none" }),
      compatible: createOpenAICompatible({ name: "gateway", baseURL }),
      anthropic: createAnthropic({ baseURL: `${origin}/v1`, apiKey: "none" }),
    },
  };
}

type Clients = Awaited<ReturnType<typeof start>>;

/** Clients that send a question about an image. */
const IMAGES: Readonly<Record<string, (clients: Clients) => Promise<unknown>>> = {
  "openai chat.completions": ({ openai }) =>
    openai.chat.completions.create({
      model: MODEL,
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: QUESTION },
            { type: "image_url", image_url: { url: DATA_URL } },
          ],
        },
      ],
    }),
  "openai responses": ({ openai }) =>
    openai.responses.create({
      model: MODEL,
      input: [
        {
          role: "user",
          content: [
            { type: "input_text", text: QUESTION },
            { type: "input_image", image_url: DATA_URL, detail: "auto" },
          ],
        },
      ],
    }),
  "@anthropic-ai/sdk": ({ anthropic }) =>
    anthropic.messages.create({
      model: MODEL,
      max_tokens: 100,
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: QUESTION },
            { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
          ],
        },
      ],
    }),
  "@ai-sdk/openai": ({ ai }) => askWithImage(ai.openai(MODEL)),
  "@ai-sdk/openai-compatible": ({ ai }) => askWithImage(ai.compatible(MODEL)),
  "@ai-sdk/anthropic": ({ ai }) => askWithImage(ai.anthropic(MODEL)),
  "@langchain/openai": ({ langchain }) =>
    langchain.invoke([
      new HumanMessage({
        content: [
          { type: "text", text: QUESTION },
          { type: "image_url", image_url: { url: DATA_URL } },
        ],
      }),
    ]),
  "@langchain/anthropic": ({ langchainAnthropic }) =>
    langchainAnthropic.invoke([
      new HumanMessage({
        content: [
          { type: "text", text: QUESTION },
          { type: "image", source_type: "base64", mime_type: "image/png", data: PNG },
        ],
      }),
    ]),
  "@openai/agents": ({ openai }) =>
    run(new Agent({ name: "a", model: new OpenAIResponsesModel(openai, MODEL) }), [
      user([
        { type: "input_text", text: QUESTION },
        { type: "input_image", image: DATA_URL },
      ]),
    ]),
};

type AiModel = Parameters<typeof generateText>[0]["model"];

function askWithImage(model: AiModel): Promise<unknown> {
  return generateText({
    model,
    maxRetries: 0,
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: QUESTION },
          { type: "file", data: Buffer.from(PNG, "base64"), mediaType: "image/png" },
        ],
      },
    ],
  });
}

describe("an image", () => {
  test.each(Object.entries(IMAGES))("of %s is described", async (_, ask) => {
    const clients = await start();
    await ask(clients);
    expect(clients.vision.images).toEqual([DATA_URL]);
    expect(clients.engine.prompts[0]).toMatch(DESCRIBED);
  });

  test("that an agent's tool returns is described, and once in the whole run", async () => {
    const call =
      "<|channel|>commentary to=functions.screenshot <|constrain|>json<|message|>{}<|call|>";
    const { openai, engine, vision } = await start([call, call, ANSWER]);
    const screenshot = tool({
      name: "screenshot",
      description: "Takes one.",
      parameters: { type: "object", properties: {}, required: [], additionalProperties: true },
      strict: false,
      execute: () => ({ type: "image" as const, image: DATA_URL }),
    });
    const model = new OpenAIResponsesModel(openai, MODEL);
    const result = await run(new Agent({ name: "a", model, tools: [screenshot] }), "Look.");
    expect(result.finalOutput).toBe("A cat.");
    expect(engine.prompts[1]).toMatch(DESCRIBED);
    expect(engine.prompts[2]).toContain("[Image 1 again]");
    expect(vision.images).toHaveLength(1);
  });
});

describe.skipIf(ON_WORKERS)("a PDF (skipped where the runtime is workerd)", () => {
  const pdfWithAi = (model: AiModel) =>
    generateText({
      model,
      maxRetries: 0,
      messages: [
        {
          role: "user",
          content: [
            {
              type: "file",
              data: Buffer.from(PDF, "base64"),
              mediaType: "application/pdf",
              filename: "a.pdf",
            },
            { type: "text", text: QUESTION },
          ],
        },
      ],
    });

  test.each<[string, (clients: Clients) => Promise<unknown>]>([
    ["@ai-sdk/openai", ({ ai }) => pdfWithAi(ai.openai(MODEL))],
    ["@ai-sdk/openai, chat", ({ ai }) => pdfWithAi(ai.openai.chat(MODEL))],
    ["@ai-sdk/anthropic", ({ ai }) => pdfWithAi(ai.anthropic(MODEL))],
    [
      "@anthropic-ai/sdk",
      ({ anthropic }) =>
        anthropic.messages.create({
          model: MODEL,
          max_tokens: 100,
          messages: [
            {
              role: "user",
              content: [
                {
                  type: "document",
                  title: "a.pdf",
                  source: { type: "base64", media_type: "application/pdf", data: PDF },
                },
              ],
            },
          ],
        }),
    ],
    [
      "openai chat.completions",
      ({ openai }) =>
        openai.chat.completions.create({
          model: MODEL,
          messages: [
            {
              role: "user",
              content: [
                {
                  type: "file",
                  file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${PDF}` },
                },
              ],
            },
          ],
        }),
    ],
  ])("of %s is read", async (_, ask) => {
    const clients = await start();
    await ask(clients);
    expect(clients.engine.prompts[0]).toMatch(READ);
  });
});

describe("a compaction", () => {
  const messages = [
    { role: "user" as const, content: "Hello." },
    { role: "assistant" as const, content: "Hello to you." },
    { role: "user" as const, content: "And now?" },
  ];
  const SUMMARIZED = "Summary of the conversation so far:\n\nThey said hello.";

  test("by AI SDK's OpenAI provider", async () => {
    const { ai, engine } = await start([SUMMARY, ANSWER]);
    const { text } = await generateText({
      model: ai.openai(MODEL),
      messages,
      providerOptions: {
        openai: { contextManagement: [{ type: "compaction", compactThreshold: 1 }] },
      },
    });
    expect(text).toBe("A cat.");
    expect(engine.prompts[1]).toContain(SUMMARIZED);
  });

  test("by AI SDK's Anthropic provider, whose next request begins with the summary", async () => {
    const { ai, engine } = await start([SUMMARY, ANSWER, ANSWER]);
    const model = ai.anthropic(MODEL);
    const trigger = { type: "input_tokens", value: 1 } as const;
    const first = await generateText({
      model,
      messages,
      providerOptions: {
        anthropic: { contextManagement: { edits: [{ type: "compact_20260112", trigger }] } },
      },
    });
    expect(first.text).toContain("A cat.");
    await generateText({
      model,
      messages: [...messages, ...first.response.messages, { role: "user", content: "Thanks." }],
    });
    expect(engine.prompts[2]).toContain(SUMMARIZED);
    expect(engine.prompts[2]).not.toContain("Hello to you.");
  });

  test("by OpenAI's agents", async () => {
    const { openai, engine } = await start([SUMMARY, ANSWER]);
    const agent = new Agent({
      name: "a",
      model: new OpenAIResponsesModel(openai, MODEL),
      modelSettings: { contextManagement: [{ type: "compaction", compactThreshold: 1 }] },
    });
    const result = await run(agent, "Hello.");
    expect(result.finalOutput).toBe("A cat.");
    expect(engine.prompts[1]).toContain(SUMMARIZED);
  });
});

/** Clients that stream an answer about an image, and resolve with its text. */
const STREAMS: Readonly<Record<string, (clients: Clients) => Promise<string | undefined>>> = {
  "openai chat.completions": async ({ openai }) => {
    const stream = openai.chat.completions.stream({
      model: MODEL,
      messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: DATA_URL } }] }],
    });
    return (await stream.finalContent()) ?? undefined;
  },
  "openai responses": async ({ openai }) => {
    const stream = openai.responses.stream({
      model: MODEL,
      input: [
        { role: "user", content: [{ type: "input_image", image_url: DATA_URL, detail: "auto" }] },
      ],
    });
    return (await stream.finalResponse()).output_text;
  },
  "@anthropic-ai/sdk": async ({ anthropic }) => {
    const source = { type: "base64", media_type: "image/png", data: PNG } as const;
    const stream = anthropic.messages.stream({
      model: MODEL,
      max_tokens: 100,
      messages: [{ role: "user", content: [{ type: "image", source }] }],
    });
    return stream.finalText();
  },
  "@ai-sdk/openai": ({ ai }) => streamWithImage(ai.openai(MODEL)),
  "@ai-sdk/openai-compatible": ({ ai }) => streamWithImage(ai.compatible(MODEL)),
  "@ai-sdk/anthropic": ({ ai }) => streamWithImage(ai.anthropic(MODEL)),
  "@langchain/openai": async ({ langchain }) => {
    const content = [{ type: "image_url", image_url: { url: DATA_URL } }];
    let text = "";
    for await (const { text: piece } of await langchain.stream([new HumanMessage({ content })])) {
      text += piece;
    }
    return text;
  },
};

async function streamWithImage(model: AiModel): Promise<string> {
  const { text } = streamText({
    model,
    maxRetries: 0,
    messages: [{ role: "user", content: [{ type: "file", data: PNG, mediaType: "image/png" }] }],
  });
  return text;
}

describe("a stream that keep-alives open, since its image is described for longer,", () => {
  test.each(Object.entries(STREAMS))("is read by %s", async (_, ask) => {
    const clients = await start([ANSWER], { isSlow: true });
    expect(await ask(clients)).toBe("A cat.");
    expect(clients.engine.prompts[0]).toMatch(DESCRIBED);
  });
});
