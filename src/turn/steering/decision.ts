/** The types of steering: the demands and the state of a turn, the decisions of `next-step.ts`, and their outcomes. */
import type { TurnRepair } from "../repairs.ts";
import type { OfferedTool, TurnFailure } from "../turn.ts";

/** The current purpose of sampling. */
export type Stage =
  /** Unrestricted output. Sampling stops where a demand must be enforced. */
  | "free"
  /** Unrestricted output, while the engine constrains the whole turn. */
  | "constrained-turn"
  /** Reasoning only. A call is forced after it. */
  | "reasoning"
  /** The JSON document that the answer must be. */
  | "answer"
  /** The arguments of the open call. */
  | "arguments"
  /** Another call, or nothing. */
  | "more-calls";

/** The reason why reading stopped before the model ended. */
export type Cut =
  /** Reasoning is disabled, has used up its budget, reaches into the answer's reserve, or repeats itself. */
  | "reasoning-budget"
  /** Reasoning is complete and a call is forced next. */
  | "reasoning-completed"
  /** The answer has begun, and the engine can constrain it to its schema. */
  | "answer-opened"
  /** The JSON document is complete. */
  | "answer-completed"
  /** The document or the arguments continue with white space only, which JSON allows without limit. */
  | "white-space"
  /** A call has begun, and the engine can constrain its arguments to their schema. */
  | "call-opened"
  /** A call is complete whose arguments must satisfy a schema. */
  | "call-completed"
  /** A call that the request does not allow. */
  | "call-refused"
  /** A gateway call is complete. */
  | "builtin-call"
  /** The request's maximum number of calls is complete. */
  | "call-limit"
  /** Something other than the further call that was requested. */
  | "not-a-call";

export interface Demands {
  /** One of these functions must be called. Undefined: no call is required. */
  readonly requiredCalls: readonly string[] | undefined;
  /** The answer must be a JSON document. */
  readonly document: boolean;
  readonly reasoning: boolean;
  /** Functions, or tools that the gateway runs, are offered. */
  readonly tools: boolean;
  /** Gateway tools are offered. */
  readonly gatewayTools: boolean;
  /** The gateway tools of which the first call must use one. */
  readonly forcedGatewayTools: readonly string[];
  /** The client gave the beginning of the answer. */
  readonly prefill: boolean;
  /** Further calls are sampled after the first one. */
  readonly moreCalls: boolean;
  /** The answer is opened if the model stopped without one, or with an empty one. */
  readonly openMissingAnswer: boolean;
  /** Tools may be called, so the model may begin another message if it stopped after a preamble. */
  readonly continueAnnouncedCalls: boolean;
  /** The engine can constrain the whole turn in one call, and the operator enabled it. */
  readonly singleCallConstraint: boolean;
}

/** All inputs of the next decision but the last outcome. */
export interface SteeringState {
  readonly stage: Stage;
  readonly demands: Demands;
  /** Repairs made so far, by name. */
  readonly repairs: ReadonlyMap<TurnRepair, number>;
  /** Answers begun and not discarded, without those that have ended empty. */
  readonly answers: number;
  /** Calls begun and not discarded. */
  readonly calls: number;
  /** Number of calls when the stage began. */
  readonly callsBefore: number;
  /** The last message is a preamble with text. */
  readonly endsInPreamble: boolean;
  /** A call is complete and held until its arguments are checked. */
  readonly uncheckedCall: boolean;
  /** A gateway call is complete and has not been run. */
  readonly gatewayCall: boolean;
  /** Number of approved calls that have not been made. */
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
  /** `exhausted`: no further call would be run. `interrupted`: the client has input for the next step. */
  | {
      readonly type: "tool-ran";
      readonly end: "answered" | "exhausted" | "awaits-approval" | "interrupted";
    }
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
  /** Let the model choose one of these functions to call. */
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
  /** Tell the model why its call of a trained tool cannot be made, and sample on. */
  | { readonly type: "explain-call"; readonly wrong: WrongCall; readonly repair: TurnRepair }
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
  | {
      readonly type: "finish";
      readonly reason: "stop" | "length" | "interrupted";
      readonly repair?: TurnRepair;
    }
  /** A demand was not met. */
  | { readonly type: "fail"; readonly failure: TurnFailure };
