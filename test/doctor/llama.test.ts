/** The doctor on llama.cpp itself, with the tiny model. */
import { expect, it } from "vitest";
import { examine } from "../../src/doctor/doctor.ts";
import { STOPPED } from "../helpers/stopped-clock.ts";
import { createTinyEngine, describeWithLlama } from "../helpers/tiny-llama.ts";

describeWithLlama("llama.cpp in process", () => {
  it("is right in all that does not depend on the model's size", async () => {
    const engine = await createTinyEngine();
    const report = await examine(
      {
        engine,
        model: "tiny.gguf",
        turns: 2,
        streams: [1, 4],
        budgetMs: 600_000,
        clock: STOPPED,
      },
      new AbortController().signal,
    );
    await engine.close();
    const found = Object.fromEntries(report.checks.map(({ id, verdict }) => [id, verdict]));
    expect(found).toEqual({
      reachable: "ok",
      identity: "ok",
      model: "ok",
      context: "degraded",
      health: "not-applicable",
      "special-tokens": "ok",
      "ids-in": "ok",
      "ids-out": "ok",
      "ids-split": "ok",
      "stop-return": "ok",
      "stop-call": "not-applicable",
      "message-end": "ok",
      "stop-ids": "ok",
      temperature: "ok",
      "top-k": "ok",
      "temperature-varies": "ok",
      "logit-bias": "ok",
      "max-tokens": "ok",
      logprobs: "ok",
      "json-schema": "ok",
      "json-object": "ok",
      choice: "ok",
      grammar: "ok",
      lark: "not-applicable",
      regex: "not-applicable",
      "structural-tag": "not-applicable",
      "token-grammar": "ok",
      "stop-strings": "ok",
      "prefix-cache": "ok",
      "loop-cache": "ok",
      "cache-isolation": "ok",
      abort: "ok",
      injection: "ok",
      streaming: "ok",
      speed: "ok",
      turns: "ok",
    });
    expect(report.checks.find(({ id }) => id === "ids-split")?.came).toBe(
      "[28823, 102, 2524, 112927, 222] came as they are.",
    );
  });
});
