import { expect, it } from "vitest";
import { createEngine } from "../../src/index.ts";
import { LLAMA_CAPABILITIES } from "../../src/engines/llama.ts";
import { spelledRequest } from "../helpers/spelled.ts";

const never = new AbortController().signal;

it("is created by the runtime that has native code", () => {
  const native = createEngine("demo", { model: "demo" });
  const asked: unknown[] = [];
  const engine = createEngine("llama", {
    model: "m.gguf",
    contextLength: 4096,
    createNativeLlama(options) {
      asked.push(options);
      return native;
    },
  });
  expect(engine).toBe(native);
  expect(asked).toEqual([{ model: "m.gguf", contextLength: 4096 }]);
});

it("reports that it is not available on other runtimes", async () => {
  const engine = createEngine("llama", { model: "m.gguf" });
  const failure = {
    name: "EngineError",
    kind: "not-found",
    message:
      'The engine "llama" runs llama.cpp in process, which requires Node. On Workers, use "llama-cpp" with the URL of a llama-server.',
  };
  expect(engine.capabilities).toBe(LLAMA_CAPABILITIES);
  await expect(engine.probe(never)).rejects.toMatchObject(failure);
  const events = engine.complete(spelledRequest(""), never)[Symbol.asyncIterator]();
  await expect(events.next()).rejects.toMatchObject(failure);
});
