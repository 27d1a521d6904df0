/** Reads `GET /v1/models`: the models that a server offers and their context lengths. */
import * as z from "zod";
import { EngineError } from "./engine-error.ts";
import type { EngineProbe } from "./engine.ts";
import type { Server } from "./server.ts";
import { asObject } from "./untyped-json.ts";

const modelList = z.lazy(() =>
  z.object({
    data: z.array(
      z.object({
        id: z.string(),
        /** Field of vLLM, SGLang. */
        max_model_len: z.unknown().optional(),
        /** Field of llama-server. */
        meta: z.unknown().optional(),
        /** Field of Fireworks, Together. */
        context_length: z.unknown().optional(),
      }),
    ),
  }),
);

/**
 * Result of the probe. The context length is that of the requested model, or of the only one if the server has a single model.
 */
export interface ModelsProbe extends Pick<EngineProbe, "contextLength" | "warnings"> {
  readonly models: readonly string[];
}

/** Undefined: the server has no list of models. Throws an {@link EngineError} if it cannot be reached or refuses the key. */
export async function probeModels(
  server: Server,
  path: string,
  model: string,
  signal: AbortSignal,
): Promise<ModelsProbe | undefined> {
  const answer = modelList.safeParse(await server.get(path, signal));
  if (!answer.success) return undefined;
  const { data } = answer.data;
  const ours = data.find(({ id }) => id === model) ?? (data.length === 1 ? data[0] : undefined);
  return {
    models: data.map(({ id }) => id),
    ...readContextLength([
      ["max_model_len", ours?.max_model_len],
      ["meta.n_ctx", asObject(ours?.meta)["n_ctx"]],
      ["context_length", ours?.context_length],
    ]),
  };
}

/** Throws an {@link EngineError} (`not-found`) unless the server offers `model`. */
export function expectModel(server: Server, model: string, models: readonly string[]): void {
  if (models.includes(model)) return;
  const offer = models.length === 0 ? "no model" : listModels(models);
  throw new EngineError(
    "not-found",
    `${server.name} offers ${offer}, not "${model}". Set the model to a name that the server offers.`,
  );
}

/** Maximum names in a message, and maximum characters of each. */
const MAX_NAMES = 10;
const MAX_NAME_CHARS = 100;

export function listModels(models: readonly string[]): string {
  const names = models.slice(0, MAX_NAMES).map((name) => `"${name.slice(0, MAX_NAME_CHARS)}"`);
  const more = models.length - names.length;
  return names.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** Context length of gpt-oss, by its weights: used if none is known. */
export const GPT_OSS_CONTEXT = 131_072;

/** Maximum plausible context length: a larger number is a mistake, or stands for "without limit". */
const MAX_CONTEXT_LENGTH = 100_000_000;

/**
 * Returns the first context length among several fields of a server. An implausible value is ignored, with a warning that names
 * it.
 */
export function readContextLength(
  places: readonly (readonly [place: string, value: unknown])[],
): Pick<EngineProbe, "contextLength" | "warnings"> {
  const warnings: string[] = [];
  for (const [place, value] of places) {
    if (value === undefined || value === null) continue;
    if (isContextLength(value)) return { contextLength: value, ...toWarnings(warnings) };
    warnings.push(`${place} is ${describe(value)}, which is no context length: it is ignored.`);
  }
  return toWarnings(warnings);
}

function isContextLength(value: unknown): value is number {
  return (
    typeof value === "number" && Number.isInteger(value) && value > 0 && value <= MAX_CONTEXT_LENGTH
  );
}

function toWarnings(warnings: readonly string[]): Pick<EngineProbe, "warnings"> {
  return warnings.length === 0 ? {} : { warnings };
}

/** Describes a value, which may be of any size. */
function describe(value: unknown): string {
  return typeof value === "number" ? String(value) : `of type ${typeof value}`;
}
