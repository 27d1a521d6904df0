/** The sampling parameters, from which all engines and APIs derive theirs. */
import type { TokenId } from "../tokenizer/tokenizer.ts";

/**
 * Sampling parameters of a request. Every value is sent, including neutral ones: servers' defaults differ from the API's
 * (llama-server samples at temperature 0.8 with top_k 40 unless the request sets them).
 */
export interface Sampling {
  readonly temperature: number;
  readonly topP: number;
  /** 0: off. */
  readonly topK: number;
  readonly minP: number;
  readonly frequencyPenalty: number;
  readonly presencePenalty: number;
  /** 1: off. */
  readonly repetitionPenalty: number;
  readonly seed?: number;
  /** Added to the logits, -100 to 100. */
  readonly logitBias?: ReadonlyMap<TokenId, number>;
}

export type SamplingParameter = keyof Sampling;

/** Parameters with a value in every request. A preset can set them, too. */
export type NeutralParameter = Exclude<SamplingParameter, "seed" | "logitBias">;

/** Names of the parameters in the APIs and in the requests of most servers. */
export const SAMPLING_FIELDS = {
  temperature: "temperature",
  topP: "top_p",
  topK: "top_k",
  minP: "min_p",
  frequencyPenalty: "frequency_penalty",
  presencePenalty: "presence_penalty",
  repetitionPenalty: "repetition_penalty",
  seed: "seed",
  logitBias: "logit_bias",
} as const satisfies Readonly<Record<SamplingParameter, string>>;

export const ALL_SAMPLING: readonly SamplingParameter[] =
  Object.keys(SAMPLING_FIELDS).filter(isSamplingParameter);

/** The parameters that most servers honour. An engine lists a further parameter beside these once its server is known to honour it. */
export const COMMON_SAMPLING: readonly SamplingParameter[] = [
  "temperature",
  "topP",
  "topK",
  "minP",
  "frequencyPenalty",
  "presencePenalty",
  "repetitionPenalty",
  "seed",
  "logitBias",
];

function isSamplingParameter(name: string): name is SamplingParameter {
  return name in SAMPLING_FIELDS;
}

/** The baseline recommended for gpt-oss: the model's own distribution. */
export const NEUTRAL_SAMPLING: Readonly<Record<NeutralParameter, number>> = {
  temperature: 1,
  topP: 1,
  topK: 0,
  minP: 0,
  frequencyPenalty: 0,
  presencePenalty: 0,
  repetitionPenalty: 1,
};

export const NEUTRAL_PARAMETERS: readonly NeutralParameter[] = ALL_SAMPLING.filter(
  (name): name is NeutralParameter => name in NEUTRAL_SAMPLING,
);

export const GREEDY_SAMPLING: Sampling = { ...NEUTRAL_SAMPLING, temperature: 0 };

/**
 * The sampling fields of a server's request.
 *
 * @param honoured list in the engine's capabilities, so that both agree.
 * @param names names of the server that differ from {@link SAMPLING_FIELDS}.
 */
export function toSamplingFields(
  sampling: Sampling,
  honoured: readonly SamplingParameter[],
  names: Partial<Record<SamplingParameter, string>> = {},
): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const parameter of honoured) {
    const value = sampling[parameter];
    fields[names[parameter] ?? SAMPLING_FIELDS[parameter]] =
      typeof value === "object" ? toBiases(value) : value;
  }
  return fields;
}

/** Biases in the form of vLLM and compatible servers: `{"200007": -100}`. */
function toBiases(biases: ReadonlyMap<TokenId, number>): Record<string, number> | undefined {
  return biases.size === 0 ? undefined : Object.fromEntries(biases);
}
