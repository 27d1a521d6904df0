/**
 * Decides the next step of a turn. The whole steering policy is one pure function over plain data.
 *
 * A turn alternates between a decision, which `steer.ts` executes, and its outcome, which leads to the next
 * decision. Nothing here samples, emits or mutates state.
 */
import type { TurnRepair } from "../repairs.ts";
import type { OfferedTool, TurnFailure } from "../turn.ts";

/** What the model is currently sampled for. */
export type Stage =
  /** Anything. Sampling stops where a demand must be enforced. */
  | "free"
  /** Anything, while the engine constrains the whole turn. */
  | "constrained-turn"
  /** Reasoning only. A call is forced after it. */
  | "reasoning"
  /** The JSON document that the answer must be. */
  | "answer"
  /** The arguments of the open call. */
  | "arguments"
  /** Another call, or nothing. */
  | "more-calls";

/** Why reading stopped before the model ended. */
export type Cut =
  /** Reasoning is disabled, has used up its budget, reaches into the answer's reserve, or repeats itself. */
  | "reasoning-budget"
  /** Reasoning is complete and a call is forced next. */
  | "reasoning-completed"
  /** The answer has begun, and the engine can constrain it to its schema. */
  | "answer-opened"
  /** The JSON document is complete. */
  | "answer-completed"
  /** The document or the arguments go on with white space alone, which JSON allows without end. */
  | "white-space"
  /** A call has begun, and the engine can constrain its arguments to their schema. */
  | "call-opened"
  /** A call is complete whose arguments must satisfy a schema. */
  | "call-completed"
  /** A call that the request does not allow. */
  | "call-refused"
  /** A call is complete that the gateway runs. */
  | "builtin-call"
  /** As many calls as the request allows are complete. */
  | "call-limit"
  /** Something other than the further call that was requested. */
  | "not-a-call";

export interface Demands {
  /** One of these functions must be called. Undefined: no call is required. */
  readonly requiredCalls: readonly string[] | undefined;
  /** The answer must be a JSON document. */
  readonly document: boolean;
  readonly reasoning: boolean;
  /** Functions or built-in tools are offered. */
  readonly tools: boolean;
  /** Tools are offered that the gateway runs. */
  readonly builtins: boolean;
  /** The first call must be to one of these of them. */
  readonly forcedBuiltins: readonly string[];
  /** The client gave the beginning of the answer. */
  readonly prefill: boolean;
  /** Sample further calls after the first one. */
  readonly moreCalls: boolean;
  /** Open the answer if the model stopped without one. */
  readonly openMissingAnswer: boolean;
  /** The engine can constrain the whole turn in one call, and the operator enabled it. */
  readonly singleCallConstraint: boolean;
}

/** All inputs of the next decision but the last outcome. */
export interface SteeringState {
  readonly stage: Stage;
  readonly demands: Demands;
  /** Repairs made so far, by name. */
  readonly repairs: ReadonlyMap<TurnRepair, number>;
  /** Answers begun and not discarded. */
  readonly answers: number;
  /** Calls begun and not discarded. */
  readonly calls: number;
  /** Number of calls when the stage began. */
  readonly callsBefore: number;
  /** A call is complete and held until its arguments are checked. */
  readonly uncheckedCall: boolean;
  /** A call is complete that the gateway runs, and has not been run. */
  readonly builtinCall: boolean;
  /** Calls the client has approved that are still to be made. */
  readonly approvedCalls: number;
  /** Name of the call being refused. */
  readonly refusedCall: string | undefined;
  /** Answers are held, so an invalid one can be retried. */
  readonly holdsAnswers: boolean;
  /** Calls are held, so an invalid one can be retried. */
  readonly holdsCalls: boolean;
}

export interface WrongCall {
  readonly tool: OfferedTool;
  readonly problem: string;
}

/** The result of executing a decision. */
export type Outcome =
  | { readonly type: "begun" }
  /** The model ended, or its remaining output would not count. */
  | { readonly type: "stopped" }
  /** The request or context limit was reached. */
  | { readonly type: "out-of-tokens" }
  /** A stop string of the client was found. */
  | { readonly type: "stop-sequence" }
  | { readonly type: "cut"; readonly cut: Cut }
  /** Undefined: the model named none of the functions. */
  | { readonly type: "function-chosen"; readonly name: string | undefined }
  /** Undefined: the answer is valid. */
  | { readonly type: "answer-checked"; readonly problem: string | undefined }
  /** `exhausted`: no further call would be run. */
  | { readonly type: "tool-ran"; readonly end: "answered" | "exhausted" | "awaits-approval" }
  /** Undefined: the arguments of all calls are valid. */
  | { readonly type: "calls-checked"; readonly wrong: WrongCall | undefined };

export type Decision =
  | Conclusion
  /** Sample without restrictions. */
  | { readonly type: "continue" }
  /** Sample under one constraint for the whole turn. */
  | { readonly type: "constrain-turn" }
  /** Append an empty analysis message, so that the model does not reason but can still call a tool. */
  | { readonly type: "skip-reasoning" }
  /** Sample reasoning only. */
  | { readonly type: "open-reasoning" }
  /** Begin another message; the model chooses its channel. */
  | { readonly type: "open-message"; readonly repair: TurnRepair }
  | { readonly type: "open-answer"; readonly repair?: TurnRepair }
  /** The answer is open and empty: constrain it to the schema. */
  | { readonly type: "constrain-answer" }
  | { readonly type: "check-answer" }
  /** Tell the model why its answer was rejected, and sample another. */
  | { readonly type: "retry-answer"; readonly problem: string; readonly repair: TurnRepair }
  /** Ask the model which of these functions to call. */
  | {
      readonly type: "choose-function";
      readonly names: readonly string[];
      readonly repair?: TurnRepair;
    }
  | { readonly type: "open-call"; readonly name: string; readonly repair?: TurnRepair }
  /** A call is open and its arguments are empty: constrain them to the schema. */
  | { readonly type: "constrain-call" }
  | { readonly type: "check-calls" }
  /** Tell the model why its arguments were rejected, and sample them again. */
  | { readonly type: "retry-call"; readonly wrong: WrongCall; readonly repair: TurnRepair }
  /** Answer a call that is not allowed with an error. */
  | { readonly type: "refuse-call"; readonly name: string; readonly repair: TurnRepair }
  /** Begin a call to a tool that the gateway runs. */
  | { readonly type: "open-builtin-call"; readonly recipient: string }
  /** Make the next call that the client has approved, and run it. */
  | { readonly type: "write-approved-call" }
  /** Run the call that is complete, and append its result. */
  | { readonly type: "run-tool" }
  /** Check whether the model has another call to make. */
  | { readonly type: "ask-for-more-calls" };

/** Ends the turn. */
export type Conclusion =
  | { readonly type: "finish"; readonly reason: "stop" | "length" }
  /** A demand was not met. */
  | { readonly type: "fail"; readonly failure: TurnFailure };

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
  const { requiredCalls, singleCallConstraint, prefill, forcedBuiltins } = demands;
  if (singleCallConstraint) return { type: "constrain-turn" };
  if (prefill && !requiredCalls) return { type: "open-answer" };
  const [recipient, ...others] = forcedBuiltins;
  if (recipient === undefined) return goOn(demands);
  return others.length === 0
    ? { type: "open-builtin-call", recipient }
    : { type: "choose-function", names: forcedBuiltins };
}

/** At the beginning, and after a result. */
function goOn({ requiredCalls, builtins, reasoning, tools }: Demands): Decision {
  // With tools of its own at hand, the model may use them before the call: it is forced where it would answer.
  if (requiredCalls && !(builtins && reasoning))
    return reasoning ? { type: "open-reasoning" } : forceCall(requiredCalls);
  if (reasoning) return { type: "continue" };
  // Opening the answer would prevent a tool call.
  return tools ? { type: "skip-reasoning" } : { type: "open-answer" };
}

function afterChoice({ forcedBuiltins }: Demands, name: string | undefined): Decision {
  if (name === undefined) return NO_FUNCTION;
  return forcedBuiltins.includes(name)
    ? { type: "open-builtin-call", recipient: name }
    : { type: "open-call", name };
}

function afterTool(
  state: SteeringState,
  end: Extract<Outcome, { type: "tool-ran" }>["end"],
): Decision {
  if (end === "awaits-approval") return STOP;
  if (state.approvedCalls > 0) return APPROVED;
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
  // A builtin call that follows a client's call would run without that call's result.
  if (state.builtinCall && calls === 0 && answers === 0) return RUN_TOOL;
  if (demands.requiredCalls) {
    return calls > 0 ? { type: "check-calls" } : forceCall(demands.requiredCalls);
  }
  if (calls > 0) return demands.moreCalls ? { type: "ask-for-more-calls" } : STOP;
  if (answers > 0) return demands.document ? { type: "check-answer" } : STOP;
  if (!demands.openMissingAnswer || repairs.has("missing-answer")) {
    return demands.document ? NO_ANSWER : STOP;
  }
  return { type: "open-answer", repair: "missing-answer" };
}

function afterCut(state: SteeringState, cut: Cut): Decision {
  const { demands, repairs, refusedCall = "" } = state;
  switch (cut) {
    case "reasoning-budget":
      if (demands.requiredCalls) return forceCall(demands.requiredCalls, "cut-reasoning");
      // The reasoning came after the requested output.
      if (state.calls > 0 || state.answers > 0) return afterFreeStop(state);
      // With tools, the model may still want to call one. This is offered only once.
      return demands.tools && !repairs.has("cut-reasoning")
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
      return repairs.has("refused-call")
        ? { type: "open-answer", repair: "refused-call" }
        : { type: "refuse-call", name: refusedCall, repair: "refused-call" };
    case "builtin-call":
      return afterFreeStop(state);
    case "call-limit":
    case "not-a-call":
      return STOP;
    default:
      return cut satisfies never;
  }
}

function afterWrongAnswer({ holdsAnswers, repairs }: SteeringState, problem: string): Decision {
  if (holdsAnswers && !repairs.has("invalid-answer")) {
    return { type: "retry-answer", problem, repair: "invalid-answer" };
  }
  const message = `The model's answer does not satisfy the response format: ${problem}`;
  return { type: "fail", failure: { kind: "invalid_answer", message } };
}

function afterWrongCall({ holdsCalls, repairs }: SteeringState, wrong: WrongCall): Decision {
  if (holdsCalls && !repairs.has("invalid-arguments")) {
    return { type: "retry-call", wrong, repair: "invalid-arguments" };
  }
  const message = `The arguments of ${wrong.tool.name} do not satisfy its schema: ${wrong.problem}`;
  return { type: "fail", failure: { kind: "invalid_tool_call", message } };
}
