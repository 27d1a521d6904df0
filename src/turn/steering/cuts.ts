/** Decides whether reading stops before the model ends. All functions are pure predicates. */
import { hasUncheckedCall } from "./checks.ts";
import { findTextFormat, toAnswerConstraint, toArgumentsConstraint } from "./constraints.ts";
import type { Cut } from "./decision.ts";
import type { TurnState } from "../turn-state.ts";

/** Returns the reason to stop reading in the current stage, or undefined to continue. */
export function findCut(state: TurnState): Cut | undefined {
  const { stage, emitter, parser } = state;
  switch (stage) {
    case "free":
      return findCutInFreeTurn(state);
    case "constrained-turn":
      return state.turn.toolChoice.type === "required"
        ? findCutBeforeCall(state)
        : findCutInFreeTurn(state);
    case "reasoning":
      if (parser.position !== "body") return "reasoning-completed";
      return mustEndReasoning(state) ? "reasoning-budget" : undefined;
    case "answer":
      if (emitter.part?.kind !== "content") return "answer-completed";
      return isDocument(state) ? findWhiteSpace(state) : undefined;
    case "arguments":
      if (emitter.part?.kind !== "tool-call") return "call-completed";
      // The body of a call with text input is not JSON.
      return state.tools.bodyForm(emitter.part.name) === "raw" ? undefined : findWhiteSpace(state);
    case "more-calls":
      return parser.openPart && parser.openPart !== "tool-call" ? "not-a-call" : undefined;
    default:
      return stage satisfies never;
  }
}

/** Whether a cut must fall on an exact token, so that tokens must be read one by one. */
export function mayCutAnywhere({ stage, turn, steering, engine }: TurnState): boolean {
  return (
    (stage !== "free" && stage !== "constrained-turn") ||
    turn.answer.type !== "text" ||
    !turn.reasoning.enabled ||
    turn.reasoning.maxTokens !== undefined ||
    turn.gatewayTools !== undefined ||
    turn.toolChoice.type !== "auto" ||
    turn.tools.some(
      ({ strict, text }) => strict || (text && findTextFormat(engine.capabilities, text.formats)),
    ) ||
    (turn.tools.length > 0 && !turn.parallelToolCalls) ||
    (turn.maxOutputTokens !== undefined && steering.answerReserve > 0) ||
    steering.refuseUnofferedTools
  );
}

/**
 * The number of ids continuing the open part after which the result of {@link findCut} may change, unless the
 * repetition guard has found a loop.
 */
export function idsUntilCut(state: TurnState): number {
  return state.parser.openPart === "reasoning" ? reasoningLeft(state) : Infinity;
}

function findCutInFreeTurn(state: TurnState): Cut | undefined {
  const { emitter, turn, parser } = state;
  // Output that is already constrained needs no second constraint.
  const constrained = state.stage === "constrained-turn";
  if (emitter.refused !== undefined) return "call-refused";
  if (emitter.hasGatewayCall) return "builtin-call";
  if (parser.openPart === "reasoning") {
    return mustEndReasoning(state) ? "reasoning-budget" : undefined;
  }
  switch (emitter.part?.kind) {
    case "content":
      if (!isDocument(state)) return undefined;
      return !constrained && toAnswerConstraint(state) ? "answer-opened" : findWhiteSpace(state);
    case "tool-call":
      return !constrained && toArgumentsConstraint(state, emitter.part) ? "call-opened" : undefined;
    default:
      if (hasUncheckedCall(state)) return "call-completed";
      if (isDocument(state) && emitter.count("content") > 0) return "answer-completed";
      return !turn.parallelToolCalls && emitter.count("tool-call") > 0 ? "call-limit" : undefined;
  }
}

function isDocument({ turn }: TurnState): boolean {
  return turn.answer.type !== "text";
}

/** Longest white space within or after a document, in characters: the deepest indentation needs less. */
const MAX_WHITE_SPACE = 1024;

/**
 * Finds excessive white space: JSON and most grammars made from a schema allow unlimited white space between tokens.
 */
function findWhiteSpace({ emitter }: TurnState): Cut | undefined {
  return emitter.blankTail > MAX_WHITE_SPACE ? "white-space" : undefined;
}

/** Only a call may follow, optionally after reasoning. */
function findCutBeforeCall(state: TurnState): Cut | undefined {
  const { emitter, parser } = state;
  if (parser.openPart === "reasoning") {
    return mustEndReasoning(state) ? "reasoning-budget" : undefined;
  }
  return emitter.count("tool-call") > 0 && !emitter.part ? "call-completed" : undefined;
}

/**
 * Reasoning is disabled, has used up its budget, reaches into the tokens reserved for the answer, or repeats
 * itself.
 */
function mustEndReasoning(state: TurnState): boolean {
  return reasoningLeft(state) === 0 || state.repetition?.looping === true;
}

/** The number of further reasoning tokens within the budget and the answer's reserve; 0 while reasoning is disabled. */
function reasoningLeft({ turn, steering, usage, parser }: TurnState): number {
  const { enabled, maxTokens = Infinity } = turn.reasoning;
  if (!enabled) return 0;
  const ofBudget = maxTokens - parser.reasoningTokens;
  const { maxOutputTokens } = turn;
  if (maxOutputTokens === undefined || steering.answerReserve === 0) return Math.max(0, ofBudget);
  const ofOutput = maxOutputTokens - steering.answerReserve - usage.completionTokens();
  return Math.max(0, Math.min(ofBudget, ofOutput));
}
