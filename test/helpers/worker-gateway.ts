/** What `startTestGateway` gives in the project `workerd`: the engine stays in this process, behind HTTP. */
import { inject } from "vitest";
import type { ModelOptions } from "../../src/models/models.ts";
import { startEngineServer } from "./engine-server.ts";
import type { TestGateway } from "./gateway.ts";
import { startWorkerd } from "./workerd.ts";

/** @param models without any, the settings say what is served. */
export async function startWorkerGateway(
  settings: Readonly<Record<string, unknown>>,
  models: readonly ModelOptions[] = [],
): Promise<TestGateway> {
  const engines = await Promise.all(models.map(({ engine }) => startEngineServer(engine)));
  const backends = models.map(({ id, aliases = [], contextLength }, at) => ({
    engine: "vllm",
    url: engines[at]?.url,
    model: "openai/gpt-oss-20b",
    servedName: id,
    aliases,
    ...(contextLength !== undefined && { contextLength }),
  }));
  const worker = await startWorkerd(
    { folder: inject("workerBundle") },
    { open: true, ...settings, ...(backends.length > 0 && { backends }) },
  );
  return {
    baseURL: `${worker.origin}/v1`,
    origin: worker.origin,
    reload: () => Promise.reject(new Error("an isolate keeps its settings")),
    get logged() {
      return worker.lines.map((line) => JSON.parse(line));
    },
    async close() {
      await Promise.all([worker, ...engines].map((each) => each.close()));
    },
  };
}
