/** Converts the sampler's probabilities to the model's log probabilities, which the API reports. */
import type { TokenLogprob } from "../../engines/engine.ts";
import type { TokenId } from "../../tokenizer/index.ts";

/**
 * The sampler's probabilities include the temperature, the model's do not. So the temperature is undone and the result
 * normalised over the tokens the sampler considered.
 *
 * @param probabilities sorted, most likely first.
 */
export function toTokenLogprob(
  id: TokenId,
  probabilities: ReadonlyMap<TokenId, number>,
  temperature: number,
  alternatives: number,
): TokenLogprob {
  // At 0 the most likely token is chosen, without scaling.
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
