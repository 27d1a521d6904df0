/** The constraints that an engine is asked to apply to the next tokens. */
import type { Constraint } from "../engines/engine.ts";
import { type Json, toCompactJson } from "../harmony/json.ts";
import { toAnswerSchema } from "./checks.ts";
import type { OfferedTool } from "./turn.ts";
import type { TurnState } from "./turn-state.ts";

/**
 * Undefined for an answer with a prefill: a constraint applies from the first sampled token, so it would
 * reject the continuation.
 */
export function toAnswerConstraint(state: TurnState): Constraint | undefined {
  const { turn } = state;
  return turn.prefill === undefined ? toJsonConstraint(state, toAnswerSchema(turn)) : undefined;
}

/** Constraint for the arguments of the open call. Undefined once the arguments have begun. */
export function toArgumentsConstraint(
  state: TurnState,
  tool: OfferedTool | undefined,
): Constraint | undefined {
  if (!tool || state.emitter.text !== "") return undefined;
  // Only schemas that our own compiler has accepted are sent to an engine.
  return toJsonConstraint(state, tool.checker && tool.parameters);
}

/** Without a schema, any JSON object is accepted. */
function toJsonConstraint({ engine }: TurnState, schema: Json | undefined): Constraint | undefined {
  const { constraints } = engine.capabilities;
  if (schema !== undefined) {
    if (!constraints.includes("json-schema")) return undefined;
    return { type: "json-schema", schema: toCompactJson(schema) };
  }
  return constraints.includes("json-object") ? { type: "json-object" } : undefined;
}
