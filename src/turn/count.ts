/** Counts the prompt tokens of a turn, including headers the gateway appends before the first engine call. */
import type { Engine, EngineEvent } from "../engines/engine.ts";
import { consume } from "../streams/push-stream.ts";
import { runTurn } from "./run.ts";
import type { RunDeps } from "./create-turn-state.ts";
import type { Turn } from "./turn.ts";

/**
 * Runs the turn up to its first engine call, which is not made. Rejects with the error the turn would fail
 * with, such as a `TurnError` if the prompt is too long.
 */
export async function countPromptTokens(
  turn: Turn,
  deps: RunDeps,
  signal: AbortSignal,
): Promise<number> {
  let tokens = 0;
  await consume(runTurn(turn, { ...deps, engine: withoutServer(deps.engine) }, signal), (event) => {
    if (event.type === "start") tokens = event.promptTokens;
    return false;
  });
  return tokens;
}

/** An engine that accepts every prompt and generates nothing. */
function withoutServer({ name, capabilities }: Engine): Engine {
  return {
    name,
    capabilities,
    probe: () => Promise.resolve({ description: name, capabilities }),
    async *complete(): AsyncGenerator<EngineEvent> {
      yield { type: "open" };
    },
  };
}
