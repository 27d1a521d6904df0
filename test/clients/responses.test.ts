import { describe, expect, test } from "vitest";
import { createEngine } from "../../src/index.ts";
import { consume } from "../api/responses/consumer.ts";
import { responseObject } from "../api/responses/schemas.ts";
import { readEvents } from "../api/responses/support.ts";
import { startTestGateway } from "../helpers/gateway.ts";
import { recordingEngine } from "../helpers/recording-engine.ts";
import { RESPONSES_CLIENTS } from "./responses-loops.ts";
import { startTap } from "./responses-tap.ts";

const ANALYSIS = /<\|channel\|>analysis<\|message\|>(.*?)<\|end\|>/gs;

/** The analysis messages in each prompt of a conversation with two loops of three calls. Checks every response on the wire. */
async function analysisInPrompts(
  client: string,
  settings: Parameters<typeof startTestGateway>[0] = {},
): Promise<string[][]> {
  const engine = recordingEngine(createEngine("demo", { model: "demo" }));
  const gateway = await startTestGateway({ engine, ...settings });
  const tap = await startTap(gateway.origin);
  try {
    const say = RESPONSES_CLIENTS[client]?.(tap.baseURL);
    if (!say) throw new Error(`no client ${client}`);
    const first = await say("For Oslo: get_weather, then search_flights, then book_hotel.");
    expect(first).toContain("Booked in Oslo");
    const second = await say("For Rome: get_weather, then search_flights, then book_hotel.");
    expect(second).toContain("Booked in Rome");
    for (const [index, answer] of tap.answers.entries()) {
      if (tap.requests[index]?.["stream"]) consume(await readEvents(answer));
      else responseObject.parse(await answer.json());
    }
  } finally {
    await tap.close();
    await gateway.close();
  }
  // Strict tools take a second engine call, which goes on from the call's header.
  const prompts = engine.prompts.filter((prompt) => prompt.endsWith("<|start|>assistant"));
  return prompts.map((prompt) => Array.from(prompt.matchAll(ANALYSIS), ([, text]) => text ?? ""));
}

describe("no client of the Responses API loses reasoning in a tool loop", () => {
  test.each(Object.keys(RESPONSES_CLIENTS))("%s", async (client) => {
    const prompts = await analysisInPrompts(client);
    expect(prompts.map((analysis) => analysis.length)).toEqual([0, 1, 2, 3, 0, 1, 2, 3]);
    // Each message is complete, and the prompts of the second loop have only the messages of that loop.
    for (const analysis of prompts[3] ?? []) expect(analysis).toMatch(/^(The user|\w+ returned)/);
    for (const analysis of prompts[7] ?? []) expect(analysis).not.toContain("Oslo");
  });
});

/** Clients that rely on the gateway's store: by `previous_response_id`, and by references to items. */
const STATEFUL = new Set([
  "openai create, by previous_response_id",
  "openai stream, by previous_response_id",
  "@ai-sdk/openai",
  "@ai-sdk/openai, streamed",
]);

describe("the others send their reasoning back to a gateway without a store", () => {
  const stateless = Object.keys(RESPONSES_CLIENTS).filter((client) => !STATEFUL.has(client));

  test.each(stateless)("%s", async (client) => {
    // The store has room for one entry, which each response replaces.
    const prompts = await analysisInPrompts(client, { settings: { storeMaxEntries: 1 } });
    expect(prompts.map((analysis) => analysis.length)).toEqual([0, 1, 2, 3, 0, 1, 2, 3]);
    for (const analysis of prompts[3] ?? []) expect(analysis).toMatch(/^(The user|\w+ returned)/);
  });
});
