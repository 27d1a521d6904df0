import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  createSequencePool,
  expectHarmonyTokens,
  type Sequence,
} from "../../../src/node/llama/model.ts";
import { specialTokenName, type TokenId } from "../../../src/tokenizer/index.ts";
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
    const engine = await createTinyEngine({ model: join(folder, "none.gguf") });
    const reason = new Error("Not now.");
    const events = engine.complete(spelledRequest(""), AbortSignal.abort(reason));
    await expect(events[Symbol.asyncIterator]().next()).rejects.toBe(reason);
    await engine.close();
  });

  it("is reported as loading to early requests", async () => {
    const engine = await createTinyEngine({ model: join(folder, "none.gguf") });
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
    const engine = await createTinyEngine({
      model: `http://127.0.0.1:${await listenAnywhere(server)}/slow.gguf`,
      modelsFolder: folder,
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

interface Held extends Sequence {
  readonly name: string;
  readonly ids: readonly TokenId[];
}

function holding(name: string, ids: readonly TokenId[]): Held {
  return { name, ids, nextTokenIndex: () => ids.length };
}

/** Returns the number of a sequence's tokens with which the prompt begins. */
function prefixOf(prompt: readonly TokenId[]): (sequence: Held) => number {
  return ({ ids }) => {
    const different = ids.findIndex((id, index) => id !== prompt[index]);
    return different < 0 ? ids.length : different;
  };
}

describe("a prompt gets", () => {
  it.each<[string, readonly TokenId[], string]>([
    ["the sequence it continues", [1, 2, 3, 4, 5, 6, 7, 8], "long"],
    ["the sequence it shares more than half of", [1, 2, 3, 4, 9, 9], "long"],
    ["an empty sequence rather than one that would lose half of what it holds", [1, 2, 3], "empty"],
    ["an empty sequence when it shares nothing", [7, 7], "empty"],
    ["the sequence it shares most with", [5, 6, 7, 8, 9], "other"],
  ])("%s", async (_, ids, expected) => {
    const pool = createSequencePool([
      holding("empty", []),
      holding("long", [1, 2, 3, 4, 5, 6]),
      holding("other", [5, 6, 7]),
    ]);
    expect((await pool.acquire(prefixOf(ids), never)).name).toBe(expected);
  });

  it("the sequence that has been idle longest when none fits", async () => {
    const [first, second] = [holding("first", [1, 1]), holding("second", [2, 2])];
    const pool = createSequencePool([first, second]);
    pool.release(await pool.acquire(prefixOf([9]), never));
    expect((await pool.acquire(prefixOf([9]), never)).name).toBe("second");
  });
});

describe("when all sequences are busy", () => {
  it("completions wait in order of arrival", async () => {
    const pool = createSequencePool([holding("only", [])]);
    const only = await pool.acquire(prefixOf([1]), never);
    const served: string[] = [];
    const waits = ["first", "second"].map(async (name) => {
      const sequence = await pool.acquire(prefixOf([1]), never);
      served.push(name);
      pool.release(sequence);
    });
    expect(served).toEqual([]);
    pool.release(only);
    await Promise.all(waits);
    expect(served).toEqual(["first", "second"]);
  });

  it("an aborted completion leaves the queue", async () => {
    const pool = createSequencePool([holding("only", [])]);
    const only = await pool.acquire(prefixOf([1]), never);
    const abort = new AbortController();
    const left = pool.acquire(prefixOf([1]), abort.signal);
    const stayed = pool.acquire(prefixOf([1]), never);
    const reason = new Error("The client left.");
    abort.abort(reason);
    await expect(left).rejects.toBe(reason);
    pool.release(only);
    expect(await stayed).toBe(only);
  });

  it("an already aborted completion is not admitted", async () => {
    const pool = createSequencePool([holding("only", [])]);
    const reason = new Error("The client left.");
    await expect(pool.acquire(prefixOf([1]), AbortSignal.abort(reason))).rejects.toBe(reason);
    expect((await pool.acquire(prefixOf([1]), never)).name).toBe("only");
  });
});
