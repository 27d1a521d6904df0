/** The sampling parameters that the APIs share, with the defaults recommended for gpt-oss. */
import type { Sampling } from "../../engines/engine.ts";

type Maybe<T> = T | null | undefined;

export interface RequestedSampling {
  readonly temperature?: Maybe<number>;
  readonly top_p?: Maybe<number>;
  readonly top_k?: Maybe<number>;
  readonly min_p?: Maybe<number>;
  readonly frequency_penalty?: Maybe<number>;
  readonly presence_penalty?: Maybe<number>;
  readonly repetition_penalty?: Maybe<number>;
  readonly seed?: Maybe<number>;
  readonly logit_bias?: Maybe<Readonly<Record<string, number>>>;
}

/** Absent values become the model's baseline: temperature 1, top_p 1, everything else off. */
export function toSampling(request: RequestedSampling): Sampling {
  const bias = Object.entries(request.logit_bias ?? {});
  return {
    temperature: request.temperature ?? 1,
    topP: request.top_p ?? 1,
    topK: request.top_k ?? 0,
    minP: request.min_p ?? 0,
    frequencyPenalty: request.frequency_penalty ?? 0,
    presencePenalty: request.presence_penalty ?? 0,
    repetitionPenalty: request.repetition_penalty ?? 1,
    ...(request.seed != null && { seed: request.seed }),
    ...(bias.length > 0 && {
      logitBias: new Map(bias.map(([id, value]) => [Number(id), value])),
    }),
  };
}
