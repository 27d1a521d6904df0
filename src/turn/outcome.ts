/** How a turn comes to its end, and what all ways there share. */
import type { Constraint } from "../engines/engine.ts";
import type { Message } from "../harmony/conversation.ts";
import { type Json, toCompactJson } from "../harmony/json.ts";
import { CHANNEL, CONSTRAIN, END, MESSAGE, START } from "../harmony/tokens.ts";
import type { TokenId } from "../tokenizer/index.ts";
import { closePart, type Run } from "./run-state.ts";
import type { TurnFailure } from "./turn.ts";

export interface Outcome {
  readonly reason: "stop" | "length";
  /** A demand that was not met. */
  readonly failure?: TurnFailure;
}

export const STOPPED: Outcome = { reason: "stop" };
export const OUT_OF_TOKENS: Outcome = { reason: "length" };

/** A part of the way: it emits events and ends with how the turn ended. */
export type Steered = Promise<Outcome>;

/** Ids that would end or restructure a JSON body from inside one of its strings: a JSON grammar lets them through. */
export const STRUCTURE: readonly TokenId[] = [CONSTRAIN, CHANNEL, START, END, MESSAGE];

/** Gives out what is held and what the parser still has. */
export function release(run: Run, outcome: Outcome): Outcome {
  closePart(run, outcome.reason);
  void run.emit(run.output.release());
  return outcome;
}

/** A message the client never sees: it tells the model what was wrong. Another assistant message begins after it. */
export function showMessage(run: Run, terminator: TokenId, message: Message): void {
  closePart(run);
  run.reader.restart();
  run.transcript.closeMessage(terminator);
  run.transcript.appendIds(run.renderer.renderMessage(message).ids);
  run.transcript.appendIds(run.openings.assistant);
}

/** What the engine can hold a JSON body to. Without a schema: that it is an object. */
export function toConstraint(run: Run, schema: Json | undefined): Constraint | undefined {
  const { constraints } = run.engine.capabilities;
  if (schema !== undefined) {
    if (!constraints.includes("json-schema")) return undefined;
    return { type: "json-schema", schema: toCompactJson(schema) };
  }
  return constraints.includes("json-object") ? { type: "json-object" } : undefined;
}
