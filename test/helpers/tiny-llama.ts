/** llama.cpp with the tiny model, on supported platforms. */
import { describe } from "vitest";
import { createNativeLlama, type NativeLlama } from "../../src/node/llama/engine.ts";
import type { LlamaModelOptions } from "../../src/node/llama/model.ts";
import { tinyGptOss } from "./tiny-gpt-oss.ts";

/** node-llama-cpp comes as one package for each platform, and only that of linux-x64 is installed. */
const missing = await findOutWhatIsMissing();

/** Like `describe`; on a platform without llama.cpp the tests are skipped, with the reason in the title. */
export function describeWithLlama(title: string, tests: () => void): void {
  const reason = missing === undefined ? "" : ` (skipped: ${missing})`;
  describe.skipIf(missing !== undefined)(`${title}${reason}`, () => {
    tests();
  });
}

/**
 * Uses one thread: several threads wait for each other when other tests keep the processor busy, and are ten times
 * slower.
 */
export async function createTinyEngine(
  options: Partial<LlamaModelOptions> = {},
): Promise<NativeLlama> {
  return createNativeLlama({
    model: await tinyGptOss(),
    gpu: false,
    threads: 1,
    sequences: 2,
    contextLength: 1024,
    ...options,
  });
}

async function findOutWhatIsMissing(): Promise<string | undefined> {
  try {
    const { getLlama, LlamaLogLevel } = await import("node-llama-cpp");
    await getLlama({
      gpu: false,
      build: "never",
      dryRun: true,
      progressLogs: false,
      logLevel: LlamaLogLevel.disabled,
    });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
