/** Runs a prepared completion: one turn for each choice. */
import { withSummaries } from "../reply/reasoning-summary.ts";
import type { Turn, TurnEvent } from "../../turn/turn.ts";
import type { ChatCompletionsDeps } from "./deps.ts";
import type { PreparedCompletion } from "./prepare.ts";

/** The events of each choice. Their reasoning is stored for later requests. */
export function runCompletion(
  prepared: PreparedCompletion,
  deps: Pick<ChatCompletionsDeps, "reasoning" | "pause">,
  signal: AbortSignal,
): AsyncIterable<TurnEvent>[] {
  const choices = { length: prepared.request.n ?? 1 };
  return Array.from(choices, (_, index) => runChoice(prepared, index, deps, signal));
}

function runChoice(
  { client, model, turn, system, summary, options }: PreparedCompletion,
  index: number,
  { reasoning, pause }: Pick<ChatCompletionsDeps, "reasoning" | "pause">,
  signal: AbortSignal,
): AsyncIterable<TurnEvent> {
  const kept = reasoning.keep(model.run(withSeed(turn, index), signal), {
    tenant: client.tenant,
    seal: options.reasoning === "sealed",
    carry: options.reasoning !== "hidden",
  });
  if (summary === undefined) return kept;
  return withSummaries(kept, { ...summary, model, turn, system, signal, pause });
}

/** A seed per choice: with one seed for all, the choices would be identical. */
function withSeed(turn: Turn, index: number): Turn {
  const { seed } = turn.sampling;
  if (seed === undefined || index === 0) return turn;
  return { ...turn, sampling: { ...turn.sampling, seed: seed + index } };
}
