import { describe, expect, test } from "vitest";
import { createEngine } from "../../src/index.ts";
import { ON_WORKERS, startTestGateway } from "../helpers/gateway.ts";
import { recordingEngine } from "../helpers/recording-engine.ts";
import { CLIENTS } from "./loops.ts";

const ANALYSIS = /<\|channel\|>analysis<\|message\|>(.*?)<\|end\|>/gs;

/** The analysis messages in each prompt of a conversation with two loops of three calls. */
async function analysisInPrompts(
  client: string,
  settings: Parameters<typeof startTestGateway>[0] = {},
): Promise<string[][]> {
  const engine = recordingEngine(createEngine("demo", { model: "demo" }));
  const gateway = await startTestGateway({ engine, ...settings });
  try {
    const say = CLIENTS[client]?.(gateway.baseURL);
    if (!say) throw new Error(`no client ${client}`);
    const first = await say("For Oslo: get_weather, then search_flights, then book_hotel.");
    expect(first).toContain("Booked in Oslo");
    const second = await say("For Rome: get_weather, then search_flights, then book_hotel.");
    expect(second).toContain("Booked in Rome");
  } finally {
    await gateway.close();
  }
  // Strict tools take a second engine call, which goes on from the call's header.
  const prompts = engine.prompts.filter((prompt) => prompt.endsWith("<|start|>assistant"));
  return prompts.map((prompt) => Array.from(prompt.matchAll(ANALYSIS), ([, text]) => text ?? ""));
}

describe("through the gateway no client's tool loop loses reasoning", () => {
  test.each(Object.keys(CLIENTS))("%s", async (client) => {
    const prompts = await analysisInPrompts(client);
    expect(prompts.map((analysis) => analysis.length)).toEqual([0, 1, 2, 3, 0, 1, 2, 3]);
    // Each message is complete, and the prompts of the second loop have only the messages of that loop.
    for (const analysis of prompts[3] ?? []) expect(analysis).toMatch(/^(The user|\w+ returned)/);
    for (const analysis of prompts[7] ?? []) expect(analysis).not.toContain("Oslo");
  });
});

/** The number of analysis messages, of three, in the fourth prompt when the gateway stores nothing. */
const WITHOUT: Readonly<Record<string, number>> = {
  "openai create": 3,
  "openai stream": 0,
  "openai runTools": 0,
  "@ai-sdk/openai chat": 0,
  "@ai-sdk/openai chat, streamed": 0,
  "@ai-sdk/openai-compatible": 3,
  "@ai-sdk/openai-compatible, streamed": 3,
  "@openrouter/ai-sdk-provider": 3,
  "@openrouter/ai-sdk-provider, streamed": 3,
  "@langchain/openai": 0,
  "@langchain/openrouter": 0,
  "@langchain/deepseek": 0,
  "@openai/agents": 3,
};

/** This client keeps only the last delta, whose size depends on the runtime's reads. */
const KEEPS_THE_LAST_READ = "openai stream";

describe("what each client sends back unaided matches the README's table", () => {
  const known = Object.entries(WITHOUT).filter(
    ([client]) => !ON_WORKERS || client !== KEEPS_THE_LAST_READ,
  );
  test.each(known)("%s: %i of 3", async (client, expected) => {
    // The store is too small for any entry.
    const prompts = await analysisInPrompts(client, { settings: { storeMaxBytes: 1 } });
    const whole = (prompts[3] ?? []).filter((analysis) =>
      /^(The user|\w+ returned)/.test(analysis),
    );
    expect(whole.length).toBe(expected);
  });
});
