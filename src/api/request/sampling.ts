/** The sampling parameters that the APIs share: their schemas, and the engine's form of them. */
import * as z from "zod";
import { NEUTRAL_SAMPLING, type Sampling } from "../../engines/sampling.ts";
import { lazy } from "../../lazy.ts";
import { FIRST_SPECIAL_ID } from "../../tokenizer/index.ts";
import type { FieldsOf } from "./request-schema.ts";

const unit = (min: number, max: number) => z.number().min(min).max(max).nullish();

/** Control tokens are excluded: a bias could force or forbid the end of a message. */
const ordinaryTokenId = lazy(() =>
  z
    .string()
    .refine(
      (id) => /^\d{1,6}$/.test(id) && Number(id) < FIRST_SPECIAL_ID,
      `must be the id of an ordinary token, below ${FIRST_SPECIAL_ID}`,
    ),
);

/** The sampling fields of Chat Completions. The other APIs have some of them. */
export const samplingFields = {
  temperature: () => unit(0, 2),
  top_p: () => unit(0, 1),
  top_k: () => z.int().min(0).nullish(),
  min_p: () => unit(0, 1),
  frequency_penalty: () => unit(-2, 2),
  presence_penalty: () => unit(-2, 2),
  repetition_penalty: () => z.number().gt(0).max(2).nullish(),
  seed: () => z.int().nullish(),
  logit_bias: () => z.record(ordinaryTokenId(), z.number().min(-100).max(100)).nullish(),
};

export type RequestedSampling = Partial<FieldsOf<typeof samplingFields>>;

/** Converts the request's fields. Absent values are neutral. */
export function toSampling(request: RequestedSampling): Sampling {
  const bias = Object.entries(request.logit_bias ?? {});
  return {
    temperature: request.temperature ?? NEUTRAL_SAMPLING.temperature,
    topP: request.top_p ?? NEUTRAL_SAMPLING.topP,
    topK: request.top_k ?? NEUTRAL_SAMPLING.topK,
    minP: request.min_p ?? NEUTRAL_SAMPLING.minP,
    frequencyPenalty: request.frequency_penalty ?? NEUTRAL_SAMPLING.frequencyPenalty,
    presencePenalty: request.presence_penalty ?? NEUTRAL_SAMPLING.presencePenalty,
    repetitionPenalty: request.repetition_penalty ?? NEUTRAL_SAMPLING.repetitionPenalty,
    ...(request.seed != null && { seed: request.seed }),
    ...(bias.length > 0 && {
      logitBias: new Map(bias.map(([id, value]) => [Number(id), value])),
    }),
  };
}
