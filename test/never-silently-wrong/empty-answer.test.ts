/** An answer that the model begins and leaves empty: on each API it is opened once more, and a reply that stays empty names this. */
import { expect, test } from "vitest";
import { createBrowsingApp } from "../helpers/browsing-app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { type Form, FORMS } from "./clients.ts";

const ANALYSIS = "<|channel|>analysis<|message|>Let me think.<|end|><|start|>assistant";
const EMPTY = `${ANALYSIS}<|channel|>final<|message|><|return|>`;

async function ask({ client, stream, read }: Form, scripts: readonly string[], settings = {}) {
  const engine = scriptedEngine(scripts);
  const { post, get } = createBrowsingApp({ engine, toolbox: {}, settings });
  const body = client.toBody([{ type: "user", text: "How many legs has a dog?" }]);
  const response = await post(client.path, { ...body, stream });
  const text = await response.text();
  const { choices } = read(text);
  const metrics = await (await get("/metrics")).text();
  const count = (kind: string) =>
    new RegExp(`^harmony_gateway_recoveries_total\\{.*"${kind}".*\\} (\\d+)$`, "m").exec(
      metrics,
    )?.[1];
  const [choice] = choices;
  return {
    content: choice?.content,
    finish: choice?.finish,
    native: choice?.nativeReason,
    mark: stream
      ? /^: x-harmony-answer: (.*)$/m.exec(text)?.[1]
      : (response.headers.get("x-harmony-answer") ?? undefined),
    counted: [count("missing-answer"), count("empty-answer")],
    prompts: engine.prompts,
  };
}

test.each(FORMS)("$name: the answer is opened again, behind the empty one", async (form) => {
  const { prompts, native, ...reply } = await ask(form, [EMPTY, "Four.<|return|>"]);
  expect(reply).toEqual({
    content: "Four.",
    finish: "stop",
    mark: undefined,
    counted: ["1", undefined],
  });
  expect(native).not.toBe("empty_answer");
  expect(prompts[1]).toMatch(
    /<\|channel\|>final<\|message\|><\|end\|><\|start\|>assistant<\|channel\|>final<\|message\|>$/,
  );
});

test.each(FORMS)("$name: markers alone are no answer", async (form) => {
  const junk = `${ANALYSIS}<|channel|>final<|message|><|constrain|><|message|><|return|>`;
  expect(await ask(form, [junk, "Four.<|return|>"])).toMatchObject({ content: "Four." });
});

test.each(FORMS)("$name: an answer that stays empty is marked and counted", async (form) => {
  const { prompts, native, ...reply } = await ask(form, [EMPTY, "<|return|>"]);
  expect(reply).toEqual({
    content: "",
    finish: "stop",
    mark: "empty",
    counted: ["1", "1"],
  });
  // Chat Completions alone has a field for it.
  expect(native).toBe(form.client.name === "Chat Completions" ? "empty_answer" : undefined);
  expect(prompts.length).toBe(2);
});

test.each(FORMS)("$name: the mark does not depend on `openMissingAnswer`", async (form) => {
  const { prompts, ...reply } = await ask(form, [EMPTY], { openMissingAnswer: false });
  expect(reply).toMatchObject({ content: "", mark: "empty", counted: [undefined, "1"] });
  expect(prompts.length).toBe(1);
});
