/** Counts the tokens that engines send, for a terminal that shows their speed. */
import type { OnFact } from "../../turn/facts.ts";
import { type Models, withTurnHook } from "../../models/models.ts";

/** The same models, whose turns report the tokens of each network read. */
export function countTokens(models: Models, onTokens: (tokens: number) => void): Models {
  const onFact: OnFact = (fact) => {
    if (fact.type === "ids") onTokens(fact.ids.length);
    else if (fact.type === "pieces") onTokens(fact.counts.reduce((sum, count) => sum + count, 0));
    else if (fact.type === "text") onTokens(fact.tokens ?? 1);
  };
  return withTurnHook(models, (_, turn, signal, run) => run(turn, signal, onFact));
}
