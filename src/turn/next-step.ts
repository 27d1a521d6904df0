/**
 * Decides the next step of a turn: the whole steering policy as one pure function over plain data.
 *
 * A turn alternates between a decision, which is carried out (`steer.ts`), and its outcome, which leads to the next
 * decision. Nothing here samples, emits or changes anything.
 */
import type { OfferedTool, TurnFailure } from "./turn.ts";

/** What the model is being asked for. */
export type Stage =
  /** Whatever it wants: it is stopped where something must hold. */
  | "free"
  /** The same, while the engine holds the whole turn to its demands. */
  | "constrained-turn"
  /** A thought alone: a call is forced after it. */
  | "thought"
  /** The document that the answer must be. */
  | "answer"
  /** The arguments of the call that is open. */
  | "arguments"
  /** Another call, or nothing. */
  | "more-calls";

/** Why reading was stopped before the model ended. */
export type Cut =
  /** The thought may not be, has used up its budget, reaches into the answer's reserve, or repeats itself. */
  | "reasoning-budget"
  /** A thought is complete after which a call is forced. */
  | "thought-completed"
  /** The answer begins, and the engine can hold it to its schema. */
  | "answer-opened"
  /** The one document is complete. */
  | "answer-completed"
  /** A call begins, and the engine can hold its arguments to the schema. */
  | "call-opened"
  /** A call is complete whose arguments must satisfy a schema. */
  | "call-completed"
  /** A call that may not be made. */
  | "call-refused"
  /** As many calls as the request allows are complete. */
  | "call-limit"
  /** Something other than the further call that was asked for. */
  | "not-a-call";

export interface Demands {
  /** One of these functions must be called. Undefined: none must. */
  readonly requiredCalls: readonly string[] | undefined;
  /** The answer must be a JSON document. */
  readonly document: boolean;
  readonly reasoning: boolean;
  /** Functions are offered. */
  readonly tools: boolean;
  /** The beginning of the answer is given. */
  readonly prefill: boolean;
  /** Ask for further calls after the first. */
  readonly moreCalls: boolean;
  /** Open the answer when the model has stopped without giving one. */
  readonly openMissingAnswer: boolean;
  /** The engine can hold the whole turn to what is demanded, and the operator wants it. */
  readonly singleCallConstraint: boolean;
}

/** What the next decision depends on, besides the outcome of the last one. */
export interface SteeringState {
  readonly stage: Stage;
  readonly demands: Demands;
  /** Repairs made so far, by name. */
  readonly repairs: ReadonlyMap<string, number>;
  /** Answers begun and not discarded. */
  readonly answers: number;
  /** Calls begun and not discarded. */
  readonly calls: number;
  /** How many calls there were when the stage began. */
  readonly callsBefore: number;
  /** A call is complete and held until its arguments have been checked. */
  readonly uncheckedCall: boolean;
  /** The call that is being refused. */
  readonly refusedCall: string | undefined;
  /** Answers are held, so a wrong one can be tried again. */
  readonly holdsAnswers: boolean;
  /** Calls are held, so a wrong one can be tried again. */
  readonly holdsCalls: boolean;
}

export interface WrongCall {
  readonly tool: OfferedTool;
  readonly problem: string;
}

/** How what was decided came out. */
export type Outcome =
  | { readonly type: "begun" }
  /** The model ended, or nothing it still writes would count. */
  | { readonly type: "stopped" }
  /** The limit of the request or of the context. */
  | { readonly type: "out-of-tokens" }
  /** A stop string of the client. */
  | { readonly type: "stop-sequence" }
  | { readonly type: "cut"; readonly cut: Cut }
  /** Undefined: the model named none of the functions. */
  | { readonly type: "function-chosen"; readonly name: string | undefined }
  /** Undefined: the answer satisfies the format. */
  | { readonly type: "answer-checked"; readonly problem: string | undefined }
  /** Undefined: the arguments of all calls satisfy their schemas. */
  | { readonly type: "calls-checked"; readonly wrong: WrongCall | undefined };

/** A repair the turn makes; counted with those of the parser. */
type Repair =
  | "cut-thought"
  | "missing-answer"
  | "refused-call"
  | "invalid-answer"
  | "invalid-arguments";

export type Decision =
  | Conclusion
  /** Sample on as the model likes. */
  | { readonly type: "continue" }
  /** The same, under one constraint for the whole turn. */
  | { readonly type: "constrain-turn" }
  /** Close an empty thought, so that none is begun and a call remains possible. */
  | { readonly type: "skip-thought" }
  /** Let the model think, and nothing else. */
  | { readonly type: "open-thought" }
  /** Begin another message, whose kind the model chooses. */
  | { readonly type: "open-message"; readonly repair: Repair }
  | { readonly type: "open-answer"; readonly repair?: Repair }
  /** The answer is open and empty: have the engine hold it to the schema. */
  | { readonly type: "constrain-answer" }
  | { readonly type: "check-answer" }
  /** Tell the model what is wrong with its answer, and have it write another. */
  | { readonly type: "retry-answer"; readonly problem: string; readonly repair: Repair }
  /** Ask the model which of these functions it calls. */
  | {
      readonly type: "choose-function";
      readonly names: readonly string[];
      readonly repair?: Repair;
    }
  | { readonly type: "open-call"; readonly name: string; readonly repair?: Repair }
  /** A call is open and its arguments are empty: have the engine hold them to the schema. */
  | { readonly type: "constrain-call" }
  | { readonly type: "check-calls" }
  /** Tell the model what is wrong with its arguments, and have it write others. */
  | { readonly type: "retry-call"; readonly wrong: WrongCall; readonly repair: Repair }
  /** Answer a call that may not be made with an error. */
  | { readonly type: "refuse-call"; readonly name: string; readonly repair: Repair }
  /** See whether the model has another call to make. */
  | { readonly type: "ask-for-more-calls" };

/** The turn is over. */
export type Conclusion =
  | { readonly type: "finish"; readonly reason: "stop" | "length" }
  /** A demand was not met. */
  | { readonly type: "fail"; readonly failure: TurnFailure };

export function nextStep(state: SteeringState, outcome: Outcome): Decision {
  switch (outcome.type) {
    case "begun":
      return firstStep(state.demands);
    case "stopped":
      return afterStop(state);
    case "out-of-tokens":
      return { type: "finish", reason: "length" };
    case "stop-sequence":
      // The text before it must be the whole document all the same.
      return state.demands.document && state.calls === 0 ? { type: "check-answer" } : STOP;
    case "cut":
      return afterCut(state, outcome.cut);
    case "function-chosen":
      return outcome.name === undefined ? NO_FUNCTION : { type: "open-call", name: outcome.name };
    case "answer-checked":
      return outcome.problem === undefined ? STOP : afterWrongAnswer(state, outcome.problem);
    case "calls-checked":
      return outcome.wrong === undefined ? STOP : afterWrongCall(state, outcome.wrong);
    default:
      return outcome satisfies never;
  }
}

const STOP: Decision = { type: "finish", reason: "stop" };

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
  const { requiredCalls, singleCallConstraint, prefill, reasoning, tools } = demands;
  if (singleCallConstraint) return { type: "constrain-turn" };
  if (requiredCalls) return reasoning ? { type: "open-thought" } : forceCall(requiredCalls);
  if (prefill) return { type: "open-answer" };
  if (reasoning) return { type: "continue" };
  // An opened answer would leave no way to call a tool.
  return tools ? { type: "skip-thought" } : { type: "open-answer" };
}

function forceCall(names: readonly string[], repair?: Repair): Decision {
  const [name] = names;
  const repaired = repair && { repair };
  return name !== undefined && names.length === 1
    ? { type: "open-call", name, ...repaired }
    : { type: "choose-function", names, ...repaired };
}

function afterStop(state: SteeringState): Decision {
  const { stage, demands, calls, callsBefore } = state;
  switch (stage) {
    case "thought":
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
      if (demands.requiredCalls) return forceCall(demands.requiredCalls, "cut-thought");
      // It came behind what was asked for.
      if (state.calls > 0 || state.answers > 0) return afterFreeStop(state);
      // With tools the model may still want to call one. It is not asked twice.
      return demands.tools && !repairs.has("cut-thought")
        ? { type: "open-message", repair: "cut-thought" }
        : { type: "open-answer", repair: "cut-thought" };
    case "thought-completed":
      return forceCall(demands.requiredCalls ?? []);
    case "answer-opened":
      return { type: "constrain-answer" };
    case "answer-completed":
      // What stands beside a call is not the answer.
      return state.calls > 0 && state.stage !== "answer" ? STOP : { type: "check-answer" };
    case "call-opened":
      return { type: "constrain-call" };
    case "call-completed":
      return { type: "check-calls" };
    case "call-refused":
      return repairs.has("refused-call")
        ? { type: "open-answer", repair: "refused-call" }
        : { type: "refuse-call", name: refusedCall, repair: "refused-call" };
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
