/** Names of models in requests: their suffixes, and other models to fall back to. */
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createBrowsingApp } from "../helpers/browsing-app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { type Client, CLIENTS, MODEL } from "./clients.ts";

const ANSWER = "<|channel|>final<|message|>Done.<|return|>";

async function ask({ path, toBody }: Client, fields: object) {
  const engine = scriptedEngine([ANSWER]);
  const { post } = createBrowsingApp({ engine, toolbox: {} });
  const response = await post(path, { ...toBody([{ type: "user", text: "Hi" }]), ...fields });
  const body = z.looseObject({ model: z.string().optional() }).parse(await response.json());
  const prompt = engine.prompts[0];
  return { status: response.status, body, prompt, headers: response.headers };
}

/** The end of a prompt whose answer is opened at once. */
const OPENED = /<\|start\|>assistant<\|channel\|>final<\|message\|>$/;

describe.each(CLIENTS)("$name", (client) => {
  test.each(["low", "medium", "high"])("a name ending in :%s means this effort", async (effort) => {
    for (const name of [
      `${MODEL}:${effort}`,
      `gpt-oss-20b:nitro:${effort}`,
      `${MODEL}-${effort}`,
    ]) {
      const { status, body, prompt, headers } = await ask(client, { model: name });
      expect([status, body.model]).toEqual([200, name]);
      expect(prompt).toContain(`Reasoning: ${effort}\n`);
      expect(prompt).not.toMatch(OPENED);
      expect(headers.get("x-harmony-reasoning-effort")).toBe(effort);
    }
  });

  test("a name ending in :none opens the answer at once", async () => {
    const { prompt, headers } = await ask(client, { model: `${MODEL}:none` });
    expect(prompt).toMatch(OPENED);
    expect(headers.get("x-harmony-reasoning-effort")).toBe("none");
  });

  test("the effort of the name holds, whatever else the client sends", async () => {
    const fields = {
      reasoning_effort: "low",
      reasoning: { effort: "low" },
      output_config: { effort: "low" },
      thinking: { type: "disabled" },
    };
    const { prompt, headers } = await ask(client, { ...fields, model: `${MODEL}:high` });
    expect(prompt).toContain("Reasoning: high\n");
    expect(prompt).not.toMatch(OPENED);
    expect(headers.get("x-harmony-reasoning-effort")).toBe("high");
  });

  test.each(["free", "nitro", "floor", "exacto", "online", "extended", "thinking"])(
    "a name ending in OpenRouter's :%s is that of the model",
    async (suffix) => {
      const name = `${MODEL}:${suffix}`;
      const { status, body, prompt } = await ask(client, { model: name });
      expect([status, body.model]).toEqual([200, name]);
      expect(prompt).toContain("Reasoning: medium\n");
    },
  );

  test.each([":foo", ":", ":latest", ":High", ":high:low", ":free:free", "high", ":minimal"])(
    "a name ending in %s is unknown",
    async (suffix) => {
      const { status, prompt } = await ask(client, { model: `${MODEL}${suffix}` });
      expect(status).toBe(client.name === "Chat Completions" ? 400 : 404);
      expect(prompt).toBeUndefined();
    },
  );

  test("an unknown model falls back to the first served one of `models`", async () => {
    const models = ["gpt-4o", `${MODEL}:low`, MODEL];
    const { status, body, prompt } = await ask(client, { model: "claude-x", models });
    expect([status, body.model]).toEqual([200, `${MODEL}:low`]);
    expect(prompt).toContain("Reasoning: low\n");
    const served = await ask(client, { model: MODEL, models });
    expect(served.body.model).toBe(MODEL);
  });

  test("names of which none is served are an error", async () => {
    const { status, prompt } = await ask(client, { model: "gpt-4o", models: ["gpt-4o-mini"] });
    expect(status).toBe(client.name === "Chat Completions" ? 400 : 404);
    expect(prompt).toBeUndefined();
  });
});
