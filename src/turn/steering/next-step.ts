/**
 * Decides the next step of a turn. The whole steering policy is one pure function over plain data.
 *
 * A turn alternates between a decision, which `steer.ts` executes, and its outcome, which leads to the next
 * decision. Nothing here samples, emits or mutates state.
 */
import type { TurnRepair } from "../repairs.ts";
import type { Cut, Decision, Demands, Outcome, SteeringState, WrongCall } from "./decision.ts";

export function nextStep(state: SteeringState, outcome: Outcome): Decision {
  switch (outcome.type) {
    case "begun":
      return state.approvedCalls > 0 ? APPROVED : firstStep(state.demands);
    case "stopped":
      return afterStop(state);
    case "out-of-tokens":
      return { type: "finish", reason: "length" };
    case "stop-sequence":
      // The text before the stop string must still be a complete document.
      return state.demands.document && state.calls === 0 ? { type: "check-answer" } : STOP;
    case "cut":
      return afterCut(state, outcome.cut);
    case "function-chosen":
      return afterChoice(state.demands, outcome.name);
    case "answer-checked":
      return outcome.problem === undefined ? STOP : afterWrongAnswer(state, outcome.problem);
    case "tool-ran":
      return afterTool(state, outcome.end);
    case "calls-checked":
      return outcome.wrong === undefined ? STOP : afterWrongCall(state, outcome.wrong);
    default:
      return outcome satisfies never;
  }
}

const STOP: Decision = { type: "finish", reason: "stop" };
const INTERRUPTED: Decision = { type: "finish", reason: "interrupted" };
const STOP_EMPTY: Decision = { type: "finish", reason: "stop", repair: "empty-answer" };
const RUN_TOOL: Decision = { type: "run-tool" };
const APPROVED: Decision = { type: "write-approved-call" };

const NO_FUNCTION: Decision = {
  type: "fail",
  failure: {
    kind: "invalid_tool_call",
    message: "The model did not name an offered function.",
  },
};

const NO_ANSWER: Decision = {
  type: "fail",
  failure: {
    kind: "invalid_answer",
    message: "The model ended without the answer that the response format asks for.",
  },
};

function firstStep(demands: Demands): Decision {
  const { requiredCalls, singleCallConstraint, prefill, forcedGatewayTools } = demands;
  if (singleCallConstraint) return { type: "constrain-turn" };
  if (prefill && !requiredCalls) return { type: "open-answer" };
  const [recipient, ...others] = forcedGatewayTools;
  if (recipient === undefined) return goOn(demands);
  return others.length === 0
    ? { type: "open-builtin-call", recipient }
    : { type: "choose-function", names: forcedGatewayTools };
}

/** The decision at the beginning of a turn, and after a result. */
function goOn({ requiredCalls, gatewayTools, reasoning, tools }: Demands): Decision {
  // The model may use gateway tools before the required call, which is forced when the model would answer.
  if (requiredCalls && !(gatewayTools && reasoning))
    return reasoning ? { type: "open-reasoning" } : forceCall(requiredCalls);
  if (reasoning) return { type: "continue" };
  // Opening the answer would prevent a tool call.
  return tools ? { type: "skip-reasoning" } : { type: "open-answer" };
}

function afterChoice({ forcedGatewayTools }: Demands, name: string | undefined): Decision {
  if (name === undefined) return NO_FUNCTION;
  return forcedGatewayTools.includes(name)
    ? { type: "open-builtin-call", recipient: name }
    : { type: "open-call", name };
}

function afterTool(
  state: SteeringState,
  end: Extract<Outcome, { type: "tool-ran" }>["end"],
): Decision {
  if (end === "awaits-approval") return STOP;
  if (state.approvedCalls > 0) return APPROVED;
  if (end === "interrupted") return INTERRUPTED;
  if (end === "answered") return goOn(state.demands);
  return state.demands.requiredCalls
    ? forceCall(state.demands.requiredCalls, "exhausted-tools")
    : { type: "open-answer", repair: "exhausted-tools" };
}

function forceCall(names: readonly string[], repair?: TurnRepair): Decision {
  const [name] = names;
  const repaired = repair && { repair };
  return name !== undefined && names.length === 1
    ? { type: "open-call", name, ...repaired }
    : { type: "choose-function", names, ...repaired };
}

function afterStop(state: SteeringState): Decision {
  const { stage, demands, calls, callsBefore } = state;
  switch (stage) {
    case "reasoning":
      return forceCall(demands.requiredCalls ?? []);
    case "answer":
      return { type: "check-answer" };
    case "arguments":
      return { type: "check-calls" };
    case "more-calls":
      if (state.uncheckedCall) return { type: "check-calls" };
      return calls > callsBefore ? { type: "ask-for-more-calls" } : STOP;
    case "constrained-turn":
    case "free":
      return afterFreeStop(state);
    default:
      return stage satisfies never;
  }
}

function afterFreeStop(state: SteeringState): Decision {
  const { demands, calls, answers, repairs } = state;
  if (state.uncheckedCall) return { type: "check-calls" };
  // A call of a gateway tool that follows a client's call would run without that call's result.
  if (state.gatewayCall && calls === 0 && answers === 0) return RUN_TOOL;
  if (demands.requiredCalls) {
    return calls > 0 ? { type: "check-calls" } : forceCall(demands.requiredCalls);
  }
  if (calls > 0) return demands.moreCalls ? { type: "ask-for-more-calls" } : STOP;
  // A prefill is an answer, whether or not the model adds to it.
  if (answers > 0 || demands.prefill) return demands.document ? { type: "check-answer" } : STOP;
  if (isCallAnnounced(state)) return { type: "open-message", repair: "announced-call" };
  if (!demands.openMissingAnswer || repairs.has("missing-answer")) {
    return demands.document ? NO_ANSWER : STOP_EMPTY;
  }
  return { type: "open-answer", repair: "missing-answer" };
}

/**
 * A preamble usually comes before a call. An answer opened after it would replace the call and end the client's loop,
 * so the model may first choose channel and recipient itself, once. The preamble's text is not interpreted.
 */
function isCallAnnounced({ demands, endsInPreamble, repairs }: SteeringState): boolean {
  return (
    demands.continueAnnouncedCalls &&
    !demands.document &&
    endsInPreamble &&
    !repairs.has("announced-call")
  );
}

function afterCut(state: SteeringState, cut: Cut): Decision {
  const { demands, repairs } = state;
  switch (cut) {
    case "reasoning-budget":
      if (demands.requiredCalls) return forceCall(demands.requiredCalls, "cut-reasoning");
      // The reasoning came after the requested output.
      if (state.calls > 0 || state.answers > 0 || demands.prefill) return afterFreeStop(state);
      // With tools, the model may still want to call one. This is offered only once.
      return demands.tools && !repairs.has("cut-reasoning") && !repairs.has("announced-call")
        ? { type: "open-message", repair: "cut-reasoning" }
        : { type: "open-answer", repair: "cut-reasoning" };
    case "reasoning-completed":
      return forceCall(demands.requiredCalls ?? []);
    case "answer-opened":
      return { type: "constrain-answer" };
    case "answer-completed":
      // Text next to a call is not the answer.
      return state.calls > 0 && state.stage !== "answer" ? STOP : { type: "check-answer" };
    case "white-space":
      return { type: state.stage === "arguments" ? "check-calls" : "check-answer" };
    case "call-opened":
      return { type: "constrain-call" };
    case "call-completed":
      return { type: "check-calls" };
    case "call-refused":
      return afterRefusedCall(state);
    case "builtin-call":
      return afterFreeStop(state);
    case "call-limit":
    case "not-a-call":
      return STOP;
    default:
      return cut satisfies never;
  }
}

/**
 * Limits refused calls: a model that keeps making them would be sampled until the context is full, with one engine call
 * for each.
 */
function afterRefusedCall(state: SteeringState): Decision {
  const { repairs, refusedCall = "" } = state;
  switch (repairs.get("refused-call")) {
    case undefined:
      return { type: "refuse-call", name: refusedCall, repair: "refused-call" };
    case 1:
      return { type: "open-answer", repair: "refused-call" };
    default:
      return afterFreeStop(state);
  }
}

function afterWrongAnswer({ holdsAnswers, repairs }: SteeringState, problem: string): Decision {
  if (holdsAnswers && !repairs.has("invalid-answer")) {
    return { type: "retry-answer", problem, repair: "invalid-answer" };
  }
  const message = `The model's answer does not satisfy the response format: ${problem}`;
  return { type: "fail", failure: { kind: "invalid_answer", message } };
}

/**
 * Maximum number of explained calls in a turn. A further invalid call goes to the client unchanged, and the model reads
 * the client's error, unless the request requires valid calls.
 */
const MAX_EXPLAINED_CALLS = 2;

function afterWrongCall(state: SteeringState, wrong: WrongCall): Decision {
  const { demands, holdsCalls, repairs } = state;
  const { name, mapped, strict } = wrong.tool;
  if (mapped !== undefined) {
    if ((repairs.get("unmapped-call") ?? 0) < MAX_EXPLAINED_CALLS) {
      return { type: "explain-call", wrong, repair: "unmapped-call" };
    }
    if (!strict && !demands.requiredCalls) return STOP;
  } else if (holdsCalls && !repairs.has("invalid-arguments")) {
    return { type: "retry-call", wrong, repair: "invalid-arguments" };
  }
  const message = `The arguments of ${mapped?.name ?? name} do not satisfy its schema: ${wrong.problem}`;
  return { type: "fail", failure: { kind: "invalid_tool_call", message } };
}
