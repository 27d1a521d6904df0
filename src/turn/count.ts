/** How many tokens the prompt of a turn is, whatever the turn has to open before the engine may continue. */
import type { Engine, EngineEvent } from "../engines/engine.ts";
import { consume } from "../streams/push-stream.ts";
import { type RunDeps, runTurn } from "./run.ts";
import type { Turn } from "./turn.ts";

/**
 * Runs the turn as far as its first engine call, and asks no engine. Rejects with what the turn would fail with, a
 * `TurnError` for a prompt that is too long.
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

/** Accepts a prompt as the engine would, and writes nothing. */
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
