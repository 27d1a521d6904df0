/**
 * One request to the model, from any API, and its events.
 *
 * Every API converts its requests to a `Turn` and reads `TurnEvent`s. No API's wire format is known below
 * this layer, and no engine's wire format above it.
 */
import type { Constraint, EngineProgress, TokenLogprob } from "../engines/engine.ts";
import type { Sampling } from "../engines/sampling.ts";
import type { Message } from "../harmony/conversation.ts";
import type { Json } from "../harmony/json.ts";
import type { SchemaChecker } from "../json-schema/index.ts";
import type { GatewayTool, FailureReason, ShownCall, ToolOrigin } from "../tools/gateway-tool.ts";
import type { DeferredFunctions } from "../tools/tool-search/deferred-functions.ts";
import type { ToolMapping, TrainedCall } from "./mapped-tool.ts";
import type { Preset } from "./preset.ts";
import type { TurnPrompt } from "./prompt/prompt.ts";
import type { Exactness } from "./sampled/exactness.ts";
import type { SampledStep } from "../harmony/sampled-step.ts";
import type { Citation, CitationMode } from "./output/citations.ts";

export interface Turn {
  /** The turn's id in logs, and the request id for engines that accept one. */
  readonly id: string;
  readonly prompt: TurnPrompt;
  /** The functions the model may call. The developer message already contains their signatures. */
  readonly tools: readonly OfferedTool[];
  /** Tools that the gateway runs. Absent: none. */
  readonly gatewayTools?: TurnGatewayTools;
  readonly toolChoice: ToolChoice;
  /** Whether sampling continues after a call to find further calls. False: at most one call. */
  readonly parallelToolCalls: boolean;
  readonly answer: AnswerFormat;
  readonly reasoning: ReasoningDemand;
  /** Strings that end the answer. Matched on the final channel only, and never returned. */
  readonly stop: readonly string[];
  /**
   * Text that joins preamble and answer for clients that read both as one text. Stop strings are matched
   * across it. Absent: they are separate.
   */
  readonly textSeparator?: string;
  /** Maximum tokens over all engine calls, reasoning included. Absent: limited by the context only. */
  readonly maxOutputTokens?: number;
  readonly sampling: Sampling;
  /** Number of alternatives in the log probabilities of the answer's tokens. Absent: no log probabilities. */
  readonly topLogprobs?: number;
  /** The beginning of the answer, to be continued (see `settlePrefill`). It is not repeated in the events. */
  readonly prefill?: string;
  /** The tenant the request belongs to. Caches and stores are separated by tenant. */
  readonly tenant: string;
  /**
   * Requests with the same affinity are routed to the same backend to hit its prefix cache. Absent: derived from the
   * beginning of the conversation.
   */
  readonly affinity?: string;
  /** The preset of the model's name. It has already been applied. */
  readonly preset?: Preset;
  /**
   * Trained tools with earlier calls that have no trained form and are written as calls of functions. Absent: trained
   * tools never replace the client's.
   */
  readonly unwrittenCalls?: ReadonlySet<string>;
  /** Headers for a request to the engine's server that is about to be made: the trace it belongs to. */
  readonly engineHeaders?: () => Readonly<Record<string, string>>;
  /**
   * Records, traces and logs must not keep the turn's content, by the wish of the sender, or of the operator for its
   * key.
   */
  readonly isPrivate?: boolean;
}

export interface OfferedTool {
  /** Identifies the tool within the turn: `namespace.name` if it has its own namespace (`tool-names.ts`). */
  readonly name: string;
  /** The recipient of the tool's calls. Default: `functions.` and the name. */
  readonly recipient?: string;
  /** The name in the model's prompt, if it differs (`harmony/name-shield.ts`). */
  readonly shownAs?: string;
  /**
   * Present if the body of calls is a text, not JSON arguments: it is passed on unchanged. `formats`: constraints for
   * the tool's format; the first one that the engine supports is used. The text is not checked afterwards.
   */
  readonly text?: { readonly formats: readonly Constraint[] };
  /** JSON Schema of the arguments. Absent: the function takes none. */
  readonly parameters?: Json;
  /** Arguments must satisfy the schema. */
  readonly strict: boolean;
  /** The compiled schema. Set if arguments must satisfy it: for strict tools and for required ones. */
  readonly checker?: SchemaChecker;
  /**
   * Present if a trained tool is shown in place of the client's: `name`, `recipient` and `parameters` are the trained
   * tool's, `strict` and `checker` the client's.
   */
  readonly mapped?: ToolMapping;
}

/** The tools that the gateway runs during a turn. Their namespaces and functions are in the messages already. */
export interface TurnGatewayTools {
  readonly tools: readonly GatewayTool[];
  /**
   * Maximum number of calls of all tools together. A further call is answered with an error, and the answer is opened.
   */
  readonly maxCalls: number;
  /** Time for all calls together, from the first call on. Absent: each tool's own limit. */
  readonly timeoutMs?: number;
  /** Handling of the model's citation markers. In an answer with a response format they are always cut. */
  readonly citations: Exclude<CitationMode, "cut">;
  /** The state that each tool saved in the previous turn, by tool name. */
  readonly saved?: ReadonlyMap<string, string>;
  /** The first call must be to one of these recipients: `browser.search`, `python`, `label.tool`. */
  readonly forced?: readonly string[];
  /** Calls that the client has approved. They are made before anything is sampled. */
  readonly approved?: readonly ApprovedCall[];
  /** Called after each result. True: the turn ends there, so that the client can continue with further input. */
  readonly isInterrupted?: () => boolean;
  /** Functions that the messages may not define yet: the result of a search, or of a call, is followed by their definitions. */
  readonly deferred?: TurnDeferred;
}

export interface TurnDeferred {
  readonly functions: DeferredFunctions;
  /** The recipients of the functions that the messages define. */
  readonly defined: ReadonlySet<string>;
}

export interface ApprovedCall {
  readonly recipient: string;
  readonly body: string;
  /** The id of the request that the client has approved. */
  readonly requestId?: string;
}

export type ToolChoice =
  | { readonly type: "auto" }
  | { readonly type: "none" }
  /** At least one call, to any of `names`. */
  | { readonly type: "required"; readonly names: readonly string[] }
  /** A call to one of `names`, or none. */
  | { readonly type: "allowed"; readonly names: readonly string[] };

export type AnswerFormat =
  | { readonly type: "text" }
  | { readonly type: "json-object" }
  | {
      readonly type: "json-schema";
      readonly name: string;
      readonly schema: Json;
      readonly checker: SchemaChecker;
    };

export interface ReasoningDemand {
  /** `false`: the answer is opened at once, without reasoning. */
  readonly enabled: boolean;
  /** Analysis is cut after this many tokens, and the answer is opened. */
  readonly maxTokens?: number;
}

/**
 * Parts open and close in the order the model wrote them and never overlap: `part-start`, any number of
 * `part-delta`, `part-end`. `start` comes first and `end` last, each exactly once.
 */
export type TurnEvent =
  /** The engine has accepted the request. `promptTokens`: length of the prompt it was sent. */
  | {
      readonly type: "start";
      readonly promptTokens: number;
      /** Present in a running tool loop: the beginning of the prompt that equals the tokens sent and sampled before. */
      readonly exactness?: Exactness;
    }
  | PrefillProgress
  | {
      readonly type: "part-start";
      readonly part: Part;
      /** The encrypted position of a tool call, for stateless clients. */
      readonly sealed?: string;
    }
  | {
      readonly type: "part-delta";
      readonly text: string;
      readonly logprobs?: readonly TokenLogprob[];
      /** Citations that end in this text. */
      readonly citations?: readonly Citation[];
    }
  | {
      readonly type: "part-end";
      /** The encrypted text of reasoning, for clients that send it back in the next request. */
      readonly sealed?: string;
      /** A summary of the reasoning, if the client requests one. */
      readonly summary?: string;
      /** The step that a client's call ends, with the ids that the model read and wrote. */
      readonly sampled?: SampledStep;
    }
  /** A `builtin-call` part has been run. Comes after its `part-end`, and before any other part begins. */
  | GatewayCallResult
  | TurnEnd;

/** The progress of an engine with the prompt of a call. Sent between parts; it restarts with the next call. */
export interface PrefillProgress extends Omit<EngineProgress, "type"> {
  readonly type: "prefill";
}

export interface GatewayCallResult {
  readonly type: "builtin-result";
  /** The id of the `builtin-call` part. */
  readonly id: string;
  readonly shown: ShownCall;
  readonly failed: boolean;
  /** The reason for a failure, if known. */
  readonly reason?: FailureReason;
  /** The call and its result, as in the transcript. */
  readonly messages: readonly Message[];
  /** The tool's state that a later turn needs to continue from here. */
  readonly state?: { readonly tool: string; readonly saved: string };
  /** Messages and state, encrypted, for stateless clients. */
  readonly sealed?: string;
}

export type Part =
  /** Chain of thought: one part for each analysis message. */
  | { readonly kind: "reasoning" }
  /** Commentary for the user, before a call or an answer. */
  | { readonly kind: "preamble" }
  | { readonly kind: "content" }
  | {
      readonly kind: "tool-call";
      readonly id: string;
      readonly name: string;
      /**
       * The name of the form in which the model wrote the header, or `other`. Absent: the gateway wrote it, or a constraint of
       * the whole turn.
       */
      readonly form?: string;
      /** The model called a trained tool instead. */
      readonly trained?: TrainedCall;
    }
  /** A call that the gateway runs. `name` is its recipient: `python`, `label.tool`; the text is code or arguments. */
  | {
      readonly kind: "builtin-call";
      readonly id: string;
      readonly name: string;
      /** Like `form` of a `tool-call`. */
      readonly form?: string;
      /** The server to which the tool belongs. */
      readonly origin?: ToolOrigin;
      /** The call is not run, and the turn ends, because the client has to approve the call first. */
      readonly awaitsApproval?: boolean;
      /** The id of the request by which the client has approved the call. */
      readonly approvalRequestId?: string;
    };

export type ToolCallPart = Extract<Part, { kind: "tool-call" }>;
export type GatewayCallPart = Extract<Part, { kind: "builtin-call" }>;

export interface TurnEnd {
  readonly type: "end";
  readonly finish: FinishReason;
  /** The finish reason of the last call in the engine's spelling. */
  readonly nativeReason: string | null;
  /** The stop string that ended the answer. */
  readonly stopSequence?: string;
  readonly usage: TurnUsage;
  /** The demand that was not met. Present with the finish `error` only. */
  readonly failure?: TurnFailure;
  /** Whether the turn ended after the result of a call, as requested by `isInterrupted`. */
  readonly isInterrupted?: boolean;
  /** Repairs made, by name and count. */
  readonly recoveries: ReadonlyMap<string, number>;
  /** The trained tools of calls that could not be converted, and were explained to the model. */
  readonly invalidCalls?: readonly string[];
  /** The states of gateway tools that a continuing turn needs, by tool name. */
  readonly toolStates?: ReadonlyMap<string, string>;
}

export interface TurnFailure {
  readonly kind: "invalid_answer" | "invalid_tool_call";
  readonly message: string;
}

export type FinishReason = "stop" | "length" | "tool-calls" | "error";

/**
 * Token counts. Prompt tokens are counted for the first engine call only; completion tokens are summed over all calls.
 */
export interface TurnUsage {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  /** All sampled tokens, reasoning included. */
  readonly completionTokens: number;
  readonly reasoningTokens: number;
  readonly engineCalls: number;
  /** Present with gateway tools. */
  readonly gatewayTools?: GatewayToolUsage;
}

export interface GatewayToolUsage {
  readonly requested: number;
  readonly executed: number;
  readonly searches: number;
  /** Pages opened. */
  readonly opens: number;
  /** Tokens of results. They are not included in prompt or completion tokens. */
  readonly outputTokens: number;
}
