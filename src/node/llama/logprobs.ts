/** Log probabilities as the API means them, from probabilities as the sampler left them. */
import type { TokenLogprob } from "../../engines/engine.ts";
import type { TokenId } from "../../tokenizer/index.ts";

/**
 * The sampler divides by the temperature before it makes probabilities; the API promises those of the model.
 * So the temperature is taken out again and the rest normalised, over the tokens the sampler considered.
 *
 * @param probabilities sorted, likeliest first.
 */
export function toTokenLogprob(
  id: TokenId,
  probabilities: ReadonlyMap<TokenId, number>,
  temperature: number,
  alternatives: number,
): TokenLogprob {
  // At 0 the likeliest token is taken, and nothing was divided.
  const power = temperature > 0 ? temperature : 1;
  let sum = 0;
  for (const probability of probabilities.values()) sum += probability ** power;
  const normaliser = Math.log(sum);
  const logprobOf = (probability: number) => power * Math.log(probability) - normaliser;
  const top = probabilities.entries().take(alternatives);
  return {
    id,
    logprob: logprobOf(probabilities.get(id) ?? 0),
    top: Array.from(top, ([each, probability]) => ({ id: each, logprob: logprobOf(probability) })),
  };
}
