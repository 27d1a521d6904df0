/** What `GET /v1/models` tells: the models a server offers, and how long their context is. */
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
  /** Of the model asked for; of the only one, when the server has only one. */
  readonly contextLength?: number;
}

/** Undefined when the server has no such list. Throws when it cannot be reached or refuses our key. */
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

/** Throws an {@link EngineError} unless `model` is among what the server offers. */
export function expectModel(server: Server, model: string, models: readonly string[]): void {
  if (models.includes(model)) return;
  const offer = models.length === 0 ? "no model" : models.map((each) => `"${each}"`).join(", ");
  throw new EngineError(
    "not-found",
    `${server.name} offers ${offer}, not "${model}". Set the model's name as the server has it.`,
  );
}
