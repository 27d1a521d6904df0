/** Explains failures to load a model to the person who wants to run it. */
import { EngineError } from "../../engines/engine-error.ts";

const KNOWN: readonly (readonly [RegExp, (model: string) => string])[] = [
  [
    /GGUF magic/i,
    (model) =>
      `${model} is not a GGUF file: its first bytes are something else. A download may have saved a web page instead.`,
  ],
  [
    /unexpected end|end of file|offset .* out of/i,
    (model) => `${model} ends too early. Download it again.`,
  ],
  [
    /memory|VRAM|too large/i,
    (model) =>
      `${model} does not fit in memory. Set a smaller --context-length, free memory, or choose a smaller model.`,
  ],
  [/ENOENT/, (model) => `There is no file ${model}.`],
  [/EACCES|EPERM/, (model) => `The gateway may not read ${model}. Check the file's permissions.`],
  [/EISDIR/, (model) => `${model} is a folder. Name the GGUF file in it.`],
];

export function explainLoadFailure(error: unknown, model: string): EngineError {
  const why = error instanceof Error ? error.message : String(error);
  const explain = KNOWN.find(([pattern]) => pattern.test(why))?.[1];
  return explain === undefined
    ? new EngineError("server-error", `llama.cpp cannot load ${model}: ${why}`, { cause: error })
    : new EngineError("not-found", explain(model), { cause: error });
}
