/** Sampling options for each stage of a turn. */
import type { Constraint } from "../../engines/engine.ts";
import { CALL, CHANNEL, CONSTRAIN, END, MESSAGE, RETURN, START } from "../../harmony/tokens.ts";
import type { TokenId } from "../../tokenizer/index.ts";
import { toAnswerConstraint, toArgumentsConstraint } from "./constraints.ts";
import { findCut, idsUntilCut, mayCutAnywhere } from "./cuts.ts";
import type { Cut, Outcome, Stage } from "./decision.ts";
import { sample, type SampleEnd, type SampleOptions } from "../sampling/sample.ts";
import type { Part } from "../turn.ts";
import { cutMessage, endMessage, type TurnState } from "../turn-state.ts";

/** Samples until the model ends, a limit is reached, or the stage has read enough. */
export function sampleStage(state: TurnState, stage: Stage): Promise<Outcome> {
  leaveStage(state);
  state.stage = stage;
  state.emitter.choosesHeaders = stage !== "constrained-turn";
  state.callsBefore = state.emitter.count("tool-call");
  const constraint = toConstraint(state);
  holdUnchecked(state, constraint !== undefined);
  const end = sample(state, toSampleOptions(state, constraint));
  // Without `await`, because its frame would be retained as long as the model samples.
  return end.then((ended) => toOutcome(state, ended));
}

function toOutcome(state: TurnState, end: SampleEnd<Cut>): Outcome {
  switch (end.why) {
    case "stop":
      endMessage(state);
      return { type: "stopped" };
    case "length":
      return { type: "out-of-tokens" };
    case "stop-sequence":
      return { type: "stop-sequence" };
    case "cut":
      // The other cuts fall between messages, or at a point where the message continues.
      if (end.cut === "reasoning-budget" || end.cut === "white-space") cutMessage(state);
      return { type: "cut", cut: end.cut };
    default:
      return end satisfies never;
  }
}

/** Discards output of the stage that is not used. */
export function leaveStage({ stage, emitter }: TurnState): void {
  if (stage === "more-calls") emitter.discard(...BESIDE_CALLS);
}

const BESIDE_CALLS = ["reasoning", "preamble", "content", "builtin-call"] as const;

function toConstraint(state: TurnState): Constraint | undefined {
  const { stage, emitter } = state;
  switch (stage) {
    case "constrained-turn":
      return state.singleCallConstraint;
    case "answer":
      return toAnswerConstraint(state);
    case "arguments":
      return toArgumentsConstraint(state, emitter.part);
    case "free":
    case "reasoning":
    case "more-calls":
      return undefined;
    default:
      return stage satisfies never;
  }
}

/** Holds output that must be checked before it is emitted. Output under an engine constraint is streamed. */
function holdUnchecked(state: TurnState, constrained: boolean): void {
  const { stage, turn, tools, emitter } = state;
  const isConverted = tools.hasMapped && stage === "arguments";
  if (constrained && stage !== "constrained-turn" && !isConverted) {
    void state.output.emit(emitter.release());
    return;
  }
  const held: Part["kind"][] = [];
  if (turn.answer.type !== "text" && !constrained) held.push("content");
  if (tools.holdsCalls) held.push("tool-call");
  if (stage === "more-calls") held.push(...BESIDE_CALLS);
  emitter.setHeld(held);
}

function toSampleOptions(state: TurnState, constraint: Constraint | undefined): SampleOptions<Cut> {
  const ban = toBannedIds(state.stage);
  return {
    ...(constraint && { constraint }),
    ...(ban && { ban }),
    stopIds: toStopIds(state),
    cut: () => findCut(state),
    cutsAnywhere: mayCutAnywhere(state),
    idsUntilCut: () => idsUntilCut(state),
  };
}

/** Ids that would end or restructure a JSON body inside a string. JSON grammars do not exclude them. */
const STRUCTURE: readonly TokenId[] = [CONSTRAIN, CHANNEL, START, END, MESSAGE];

function toBannedIds(stage: Stage): readonly TokenId[] | undefined {
  if (stage === "answer") return [...STRUCTURE, CALL];
  return stage === "arguments" ? [...STRUCTURE, RETURN] : undefined;
}

function toStopIds({ stage, turn }: TurnState): readonly TokenId[] {
  if (stage === "reasoning") return [END];
  const isCallAlone =
    stage === "arguments" || (stage === "constrained-turn" && turn.toolChoice.type === "required");
  return isCallAlone ? [CALL] : [];
}
