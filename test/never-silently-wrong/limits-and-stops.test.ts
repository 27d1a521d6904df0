/** Token limits, stop strings and log probabilities: what each API accepts, and what they do. */
import { describe, expect, test } from "vitest";
import { createBrowsingApp } from "../helpers/browsing-app.ts";
import { scriptedEngine, type ScriptedOptions } from "../helpers/scripted-engine.ts";
import { chat, CLIENTS, type Client, messages, responses } from "./clients.ts";

const ANSWER = "<|channel|>final<|message|>One two three.<|return|>";

async function ask(
  { path, toBody, readReply }: Client,
  fields: object,
  script: string = ANSWER,
  options: ScriptedOptions = {},
) {
  const engine = scriptedEngine([script], options);
  const { post } = createBrowsingApp({ engine, toolbox: {} });
  const body = toBody([{ type: "user", text: "Go." }], ["f"]);
  const response = await post(path, { ...body, ...fields });
  const reply = await response.json();
  return {
    status: response.status,
    limit: engine.requests[0]?.maxTokens,
    reply: response.ok ? readReply(reply) : undefined,
    error: response.ok ? "" : JSON.stringify(reply),
  };
}

describe("the smallest limit of output tokens is that of the API", () => {
  test.each([
    { client: chat, field: "max_completion_tokens", smallest: 1 },
    { client: chat, field: "max_tokens", smallest: 1 },
    { client: responses, field: "max_output_tokens", smallest: 16 },
    { client: messages, field: "max_tokens", smallest: 0 },
  ])("$client.name: $field from $smallest", async ({ client, field, smallest }) => {
    const accepted = await ask(client, { [field]: smallest });
    expect([accepted.status, accepted.limit]).toEqual([200, Math.max(1, smallest)]);
    const refused = await ask(client, { [field]: smallest - 1 });
    expect([refused.status, refused.limit]).toEqual([400, undefined]);
    expect(refused.error).toContain(`${field}: `);
  });

  test("Messages: a limit of 0 returns nothing", async () => {
    for (const thinking of [undefined, { type: "disabled" }]) {
      const { reply } = await ask(messages, { max_tokens: 0, thinking }, "Hi there.<|return|>");
      expect(reply).toEqual({ reasoning: "", text: "", calls: [] });
    }
  });
});

describe("a stop string ends the answer, and no preamble", () => {
  const preamble = "<|channel|>commentary<|message|>First STOP, then.<|end|><|start|>assistant";
  const call = " to=functions.f<|channel|>commentary <|constrain|>json<|message|>{}<|call|>";
  const cases = [
    { client: chat, field: "stop" },
    { client: messages, field: "stop_sequences" },
  ];

  test.each(cases)("$client.name: the call after a preamble comes", async ({ client, field }) => {
    const { reply } = await ask(client, { [field]: ["STOP"] }, preamble + call);
    expect(reply).toMatchObject({ text: "First STOP, then.", calls: [{ name: "f", args: "{}" }] });
  });

  test.each(cases)(
    "$client.name: the answer after a preamble is cut",
    async ({ client, field }) => {
      const answer = "<|channel|>final<|message|>Yes. STOP No.<|return|>";
      const { reply } = await ask(client, { [field]: ["STOP"] }, preamble + answer);
      expect(reply?.text.replaceAll("\n", "")).toBe("First STOP, then.Yes. ");
    },
  );

  test.each(cases)("$client.name: reasoning is not searched", async ({ client, field }) => {
    const thought = "<|channel|>analysis<|message|>STOP<|end|><|start|>assistant";
    const { reply } = await ask(client, { [field]: ["STOP"] }, thought + ANSWER);
    expect(reply?.text).toBe("One two three.");
  });

  test("Responses has no stop strings: as an unknown field they have no effect", async () => {
    const { reply } = await ask(responses, { stop: ["two"] });
    expect(reply?.text).toBe("One two three.");
  });
});

test.each([
  [chat, { logprobs: true }],
  [responses, { include: ["message.output_text.logprobs"], top_logprobs: 1 }],
] as const)(
  "$name: log probabilities that the engine does not have are refused",
  async (client, fields) => {
    const { status, error } = await ask(client, fields, ANSWER, {
      capabilities: { logprobs: false },
    });
    expect(status).toBe(400);
    expect(error).toContain("the engine of this model does not support log probabilities");
  },
);

test.each(CLIENTS)("$name reports the effort it used", async ({ path, toBody }) => {
  for (const [asked, used] of [
    ["low", "low"],
    ["xhigh", "high"],
    ["max", "high"],
  ]) {
    const engine = scriptedEngine([ANSWER]);
    const { post } = createBrowsingApp({ engine, toolbox: {} });
    const body = {
      ...toBody([{ type: "user", text: "Go." }]),
      reasoning: { effort: asked },
      output_config: { effort: asked },
    };
    const response = await post(path, body);
    expect(response.headers.get("x-harmony-reasoning-effort")).toBe(used);
    expect(engine.prompts[0]).toContain(`Reasoning: ${used}\n`);
  }
});
