import { expect, test } from "vitest";
import { toRecordTexts } from "../../src/inspect/record-texts.ts";
import { createRecordedApp } from "../helpers/recorded-app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";

test("the tokens of a record are looked up in slices, also those of one long read or prompt", async () => {
  const app = createRecordedApp({
    engine: scriptedEngine(() => "<|channel|>final<|message|>Hi<|return|>"),
  });
  await (
    await app.post("/v1/chat/completions", {
      model: "openai/gpt-oss-20b",
      messages: [{ role: "user", content: "Hi" }],
    })
  ).text();
  const record = await app.entries[0]?.record();
  if (record === undefined) throw new Error("no record");
  const ids = Array.from({ length: 10_240 }, (_, at) => at % 1000);
  const steps = toRecordTexts({
    ...record,
    prompt: record.prompt && { ...record.prompt, ids },
    calls: record.calls.map((call) => ({ ...call, stopIds: [200_002], reads: [{ ms: 0, ids }] })),
  });
  let pauses = 0;
  let step = steps.next();
  for (; !step.done; step = steps.next()) pauses += 1;
  expect(pauses).toBeGreaterThan(10);
  expect(step.value[999]).toBeDefined();
  expect(step.value[200_002]).toBe("<|return|>");
});
