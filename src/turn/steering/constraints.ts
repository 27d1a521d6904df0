/** The constraints that an engine applies to the next tokens. */
import type { Capabilities, Constraint } from "../../engines/engine.ts";
import { type Json, toCompactJson } from "../../harmony/json.ts";
import { toAnswerSchema } from "./checks.ts";
import type { Part } from "../turn.ts";
import type { TurnState } from "../turn-state.ts";

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
  part: Part | undefined,
): Constraint | undefined {
  if (part?.kind !== "tool-call" || state.emitter.text !== "") return undefined;
  const { text } = state.tools.find(part.name) ?? {};
  if (text !== undefined) return findTextFormat(state.engine.capabilities, text.formats);
  const tool = state.tools.checkedToolOf(part);
  if (tool === undefined) return undefined;
  const { strict, mapped } = tool;
  const isChoice = mapped !== undefined && !strict && state.turn.toolChoice.type !== "required";
  if (isChoice) return undefined;
  // Only schemas that the gateway's compiler has accepted are sent to an engine.
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

/** The first of a text's formats that an engine supports. */
export function findTextFormat(
  { constraints }: Pick<Capabilities, "constraints">,
  formats: readonly Constraint[],
): Constraint | undefined {
  return formats.find(({ type }) => constraints.includes(type));
}
