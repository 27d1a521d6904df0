/** Reads `GET /v1/models`: the models that a server offers and their context lengths. */
import * as z from "zod";

import { EngineError } from "./engine-error.ts";
import type { Server } from "./server.ts";

const modelList = z.lazy(() =>
  z.object({
    data: z.array(
      z.object({
        id: z.string(),
        /** vLLM, SGLang. */
        max_model_len: z.number().nullish(),
        /** llama-server. */
        meta: z.object({ n_ctx: z.number().nullish() }).nullish(),
        /** Fireworks, Together. */
        context_length: z.number().nullish(),
      }),
    ),
  }),
);

export interface ModelsProbe {
  readonly models: readonly string[];
  /** In tokens, of the requested model, or of the only one if the server has a single model. */
  readonly contextLength?: number;
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
  const contextLength = ours?.max_model_len ?? ours?.meta?.n_ctx ?? ours?.context_length;
  return {
    models: data.map(({ id }) => id),
    ...(contextLength != null && { contextLength }),
  };
}

/** Throws an {@link EngineError} (`not-found`) unless the server offers `model`. */
export function expectModel(server: Server, model: string, models: readonly string[]): void {
  if (models.includes(model)) return;
  const offer = models.length === 0 ? "no model" : models.map((each) => `"${each}"`).join(", ");
  throw new EngineError(
    "not-found",
    `${server.name} offers ${offer}, not "${model}". Set the model to a name that the server offers.`,
  );
}
