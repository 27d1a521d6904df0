/** What an engine can be asked to hold the next tokens to. */
import type { Constraint } from "../engines/engine.ts";
import { type Json, toCompactJson } from "../harmony/json.ts";
import { toAnswerSchema } from "./checks.ts";
import type { OfferedTool } from "./turn.ts";
import type { TurnState } from "./turn-state.ts";

/** None for an answer whose beginning was given: a constraint holds from the first sampled token. */
export function toAnswerConstraint(state: TurnState): Constraint | undefined {
  const { turn } = state;
  return turn.prefill === undefined ? toJsonConstraint(state, toAnswerSchema(turn)) : undefined;
}

/** For the arguments of the open call: none once they have begun. */
export function toArgumentsConstraint(
  state: TurnState,
  tool: OfferedTool | undefined,
): Constraint | undefined {
  if (!tool || state.emitter.text !== "") return undefined;
  // An engine gets no schema that has not been compiled.
  return toJsonConstraint(state, tool.checker && tool.parameters);
}

/** Without a schema: that it is an object. */
function toJsonConstraint({ engine }: TurnState, schema: Json | undefined): Constraint | undefined {
  const { constraints } = engine.capabilities;
  if (schema !== undefined) {
    if (!constraints.includes("json-schema")) return undefined;
    return { type: "json-schema", schema: toCompactJson(schema) };
  }
  return constraints.includes("json-object") ? { type: "json-object" } : undefined;
}
