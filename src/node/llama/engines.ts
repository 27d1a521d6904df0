/** The in-process engines of a gateway. A reload that keeps a model keeps its engine: loading it again takes minutes. */
import type { CreateNativeLlama } from "../../engines/llama.ts";
import type { Log } from "../../telemetry/log.ts";
import { createNativeLlama, type NativeLlama } from "./engine.ts";
import { createDownloadReport } from "./model-file.ts";

export interface Llamas {
  readonly create: CreateNativeLlama;
  close(): Promise<void>;
}

export function createLlamas(log: Log): Llamas {
  const engines = new Map<string, NativeLlama>();
  return {
    create(options) {
      const { model, contextLength } = options;
      const key = JSON.stringify([model, contextLength]);
      const known = engines.get(key);
      if (known !== undefined) return known;
      const engine = createNativeLlama({
        ...options,
        onDownload: createDownloadReport(
          (progress) => log.info("download", { model, progress }),
          () => performance.now(),
        ),
        onLoad: (file) => log.info("loading", { model, file }),
      });
      engines.set(key, engine);
      return engine;
    },
    async close() {
      await Promise.all([...engines.values()].map((engine) => engine.close()));
    },
  };
}
