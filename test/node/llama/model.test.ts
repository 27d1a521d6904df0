import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLlamaEngine } from "../../../src/node/llama/engine.ts";
import { expectHarmonyTokens } from "../../../src/node/llama/model.ts";
import { specialTokenName } from "../../../src/tokenizer/index.ts";
import { createTinyEngine, describeWithLlama } from "../../helpers/tiny-llama.ts";

const never = new AbortController().signal;

describe("a model's vocabulary", () => {
  it("is ours when it spells the special tokens as we do", () => {
    expect(() => expectHarmonyTokens((id) => specialTokenName(id) ?? "", "m.gguf")).not.toThrow();
  });

  it("is not ours otherwise", () => {
    expect(() => expectHarmonyTokens(() => "ĠParis", "m.gguf")).toThrow(
      expect.objectContaining({
        kind: "not-found",
        message:
          'm.gguf is no gpt-oss model: its token 199998 is "ĠParis" instead of <|startoftext|>.',
      }),
    );
  });
});

describeWithLlama("a model file", () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "llama-"));
  });

  afterEach(() => rm(folder, { recursive: true }));

  it("that is missing is named, and looked for again the next time", async () => {
    const model = join(folder, "late.gguf");
    const engine = await createTinyEngine({ model });
    await expect(engine.probe(never)).rejects.toMatchObject({
      name: "EngineError",
      kind: "not-found",
      message: expect.stringContaining(model),
    });
    await writeFile(model, "no model at all");
    await expect(engine.probe(never)).rejects.toMatchObject({
      name: "EngineError",
      kind: "server-error",
    });
    await engine.close();
  });

  it("is not waited for by who has left", async () => {
    const engine = createLlamaEngine({ model: join(folder, "none.gguf"), gpu: false });
    const reason = new Error("Not now.");
    await expect(engine.probe(AbortSignal.abort(reason))).rejects.toBe(reason);
    await engine.close();
  });
});
