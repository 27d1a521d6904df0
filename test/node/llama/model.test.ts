import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createNativeLlama } from "../../../src/node/llama/engine.ts";
import { expectHarmonyTokens } from "../../../src/node/llama/model.ts";
import { specialTokenName } from "../../../src/tokenizer/index.ts";
import { listenAnywhere } from "../../helpers/listen.ts";
import { spelledRequest } from "../../helpers/spelled.ts";
import { createTinyEngine, describeWithLlama } from "../../helpers/tiny-llama.ts";

const never = new AbortController().signal;

describe("a model's vocabulary", () => {
  it("is accepted if it spells the special tokens like o200k_harmony", () => {
    expect(() => expectHarmonyTokens((id) => specialTokenName(id) ?? "", "m.gguf")).not.toThrow();
  });

  it("is rejected otherwise", () => {
    expect(() => expectHarmonyTokens(() => "ĠParis", "m.gguf")).toThrow(
      expect.objectContaining({
        kind: "not-found",
        message:
          'm.gguf is not a gpt-oss model: its token 199998 is "ĠParis" instead of <|startoftext|>.',
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
      kind: "not-found",
    });
    await engine.close();
  });

  it("is not waited for after an abort", async () => {
    const engine = createNativeLlama({ model: join(folder, "none.gguf"), gpu: false });
    const reason = new Error("Not now.");
    const events = engine.complete(spelledRequest(""), AbortSignal.abort(reason));
    await expect(events[Symbol.asyncIterator]().next()).rejects.toBe(reason);
    await engine.close();
  });

  it("is reported as loading to early requests", async () => {
    const engine = createNativeLlama({ model: join(folder, "none.gguf"), gpu: false });
    const reason = new Error("Not now.");
    await expect(engine.probe(AbortSignal.abort(reason))).rejects.toMatchObject({
      name: "EngineError",
      kind: "loading",
      message: "The model is still being loaded.",
      cause: reason,
    });
    await engine.close();
  });

  it("that is being downloaded is not waited for; closing the engine stops the download", async () => {
    const bytes = Buffer.alloc(4_000_000);
    const server = createServer((request, response) => {
      response.writeHead(200, { "content-length": bytes.length });
      if (request.method === "HEAD") response.end();
      else response.write(bytes.subarray(0, 1_000_000));
    });
    const began = Promise.withResolvers<void>();
    const engine = createNativeLlama({
      model: `http://127.0.0.1:${await listenAnywhere(server)}/slow.gguf`,
      modelsFolder: folder,
      gpu: false,
      onDownload: ({ downloadedBytes }) => downloadedBytes > 0 && began.resolve(),
    });
    const loading = engine.probe(never);
    await Promise.race([began.promise, loading]);
    const events = engine.complete(spelledRequest(""), never);
    await expect(events[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      name: "EngineError",
      kind: "loading",
      message: expect.stringMatching(/^The model is still being downloaded: \[[#-]+\] +\d+%/),
    });
    await Promise.all([expect(loading).rejects.toMatchObject({ kind: "closed" }), engine.close()]);
    server.closeAllConnections();
    server.close();
  });
});
