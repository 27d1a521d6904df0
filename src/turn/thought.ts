/** When a thought has been long enough. */
import type { Run } from "./run-state.ts";

/** It has used up its budget, reaches into the tokens kept for the answer, or goes in circles. */
export function thoughtIsEnough(run: Run): boolean {
  const { turn, steering, tally, reader, repetition } = run;
  const { maxTokens } = turn.reasoning;
  if (maxTokens !== undefined && reader.reasoningTokens >= maxTokens) return true;
  if (repetition?.looping) return true;
  const { maxOutputTokens } = turn;
  if (maxOutputTokens === undefined || steering.answerReserve === 0) return false;
  return tally.completionTokens >= maxOutputTokens - steering.answerReserve;
}
