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
        /** vLLM, SGLang. */
        max_model_len: z.unknown().optional(),
        /** llama-server. */
        meta: z.unknown().optional(),
        /** Fireworks, Together. */
        context_length: z.unknown().optional(),
      }),
    ),
  }),
);

/** The context length is that of the requested model, or of the only one if the server has a single model. */
export interface ModelsProbe extends Pick<EngineProbe, "contextLength" | "warnings"> {
  readonly models: readonly string[];
}

/** Undefined if the server has no such list. Throws an {@link EngineError} if it cannot be reached or refuses the key. */
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

/** Most names in a message, and most characters of one. */
const MAX_NAMES = 10;
const MAX_NAME_CHARS = 100;

export function listModels(models: readonly string[]): string {
  const names = models.slice(0, MAX_NAMES).map((name) => `"${name.slice(0, MAX_NAME_CHARS)}"`);
  const more = models.length - names.length;
  return names.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** That of gpt-oss, as far as its weights go: used where none is known. */
export const GPT_OSS_CONTEXT = 131_072;

/** No context is longer: a number beyond it is a mistake, or a way to say "without limit". */
const MAX_CONTEXT_LENGTH = 100_000_000;

/** Of several places where a server may report its context length, the first that does. What cannot be one is ignored, and named. */
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

/** Other values may be of any size. */
function describe(value: unknown): string {
  return typeof value === "number" ? String(value) : `of type ${typeof value}`;
}
