/**
 * One request to the model, whichever API it came from, and its events.
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
  /** Appears in logs, and is sent as the request id to engines that accept one. */
  readonly id: string;
  readonly prompt: TurnPrompt;
  /** The functions the model may call. The developer message already contains their signatures. */
  readonly tools: readonly OfferedTool[];
  /** Tools that the gateway runs. Absent: none. */
  readonly gatewayTools?: TurnGatewayTools;
  readonly toolChoice: ToolChoice;
  /** Keep sampling after a call to find further calls. False: at most one call. */
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
  /** Return log probabilities of the answer's tokens, with this many alternatives. */
  readonly topLogprobs?: number;
  /** The beginning of the answer, to be continued (see `settlePrefill`). It is not repeated in the events. */
  readonly prefill?: string;
  /** The tenant the request belongs to. Caches and stores are separated by tenant. */
  readonly tenant: string;
  /**
   * Requests with the same affinity are routed to the same backend to hit its prefix cache. Absent: derived
   * from how the conversation begins.
   */
  readonly affinity?: string;
  /** What the name of the model brought along. It has been applied already. */
  readonly preset?: Preset;
  /**
   * Trained tools of which some earlier calls have no form, and are written as those of functions. Absent: the model is
   * shown no trained tools for the client's, whatever these are.
   */
  readonly unwrittenCalls?: ReadonlySet<string>;
  /** Headers for a request to the engine's server that is about to be made: the trace it belongs to. */
  readonly engineHeaders?: () => Readonly<Record<string, string>>;
  /** Its sender, or the operator for its key, wants no record, trace or log to keep its content. */
  readonly isPrivate?: boolean;
}

export interface OfferedTool {
  /** Identifies the tool within the turn: `namespace.name` if it has a namespace of its own (`tool-names.ts`). */
  readonly name: string;
  /** The recipient of its calls. Default: `functions.` and the name. */
  readonly recipient?: string;
  /** The name in the model's prompt, if it is another one (`harmony/name-shield.ts`). */
  readonly shownAs?: string;
  /**
   * The body of its calls is a text, not JSON arguments: it is passed on as written. `formats`: constraints that hold the
   * text to the tool's format, of which the engine gets the first one it supports. Nothing is checked afterwards.
   */
  readonly text?: { readonly formats: readonly Constraint[] };
  /** JSON Schema of the arguments. Absent: the function takes none. */
  readonly parameters?: Json;
  /** Arguments must satisfy the schema. */
  readonly strict: boolean;
  /** The compiled schema. Set if arguments must satisfy it: for strict tools and for required ones. */
  readonly checker?: SchemaChecker;
  /**
   * The model is shown a tool of its training in place of the client's: `name`, `recipient` and `parameters` are the trained
   * tool's, `strict` and `checker` the client's.
   */
  readonly mapped?: ToolMapping;
}

/** The tools that the gateway runs during a turn. Their namespaces and functions are in the messages already. */
export interface TurnGatewayTools {
  readonly tools: readonly GatewayTool[];
  /** Most calls to all of them together. A further one is answered with an error, and the answer is opened. */
  readonly maxCalls: number;
  /** Time for all calls together, from the first one on. Absent: what each tool allows. */
  readonly timeoutMs?: number;
  /** What to do with the model's citation markers. In an answer with a response format they are always cut. */
  readonly citations: Exclude<CitationMode, "cut">;
  /** By tool name: what its run in the turn before saved. */
  readonly saved?: ReadonlyMap<string, string>;
  /** The first call must be to one of these recipients: `browser.search`, `python`, `label.tool`. */
  readonly forced?: readonly string[];
  /** Calls the client has approved: made before anything is sampled. */
  readonly approved?: readonly ApprovedCall[];
  /** Functions that the messages may not define yet: the result of a search, or of a call, is followed by their definitions. */
  readonly deferred?: TurnDeferred;
}

export interface TurnDeferred {
  readonly functions: DeferredFunctions;
  /** The recipients of those that the messages define. */
  readonly defined: ReadonlySet<string>;
}

export interface ApprovedCall {
  readonly recipient: string;
  readonly body: string;
  /** Names the request that the client has approved. */
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
      /** In a running tool loop: how far the prompt is exactly what was sent and sampled before. */
      readonly exactness?: Exactness;
    }
  | PrefillProgress
  | {
      readonly type: "part-start";
      readonly part: Part;
      /** For tool calls of stateless clients: where the call stood, encrypted. */
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
      /** For reasoning: its text, encrypted, for clients that send it back in the next request. */
      readonly sealed?: string;
      /** For reasoning, if the client asks for it: a summary of its text. */
      readonly summary?: string;
      /** For the client's calls: the step that they end, as the model read and wrote it. */
      readonly sampled?: SampledStep;
    }
  /** A `builtin-call` part has been run. Comes after its `part-end`, and before any other part begins. */
  | GatewayCallResult
  | TurnEnd;

/** How far an engine has come with the prompt of a call. Comes between parts, and again from the start with the next call. */
export interface PrefillProgress extends Omit<EngineProgress, "type"> {
  readonly type: "prefill";
}

export interface GatewayCallResult {
  readonly type: "builtin-result";
  /** The id of the `builtin-call` part. */
  readonly id: string;
  readonly shown: ShownCall;
  readonly failed: boolean;
  /** Why, where it is known. */
  readonly reason?: FailureReason;
  /** The call and its result as they stand in the transcript. */
  readonly messages: readonly Message[];
  /** The state of the tool that a later turn needs to continue from here. */
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
      /** As of a `tool-call`. */
      readonly form?: string;
      /** The server whose tool this one stands for. */
      readonly origin?: ToolOrigin;
      /** It is not run, and the turn ends: the client has to approve of it first. */
      readonly awaitsApproval?: boolean;
      /** Names the request by which the client has approved it. */
      readonly approvalRequestId?: string;
    };

export type ToolCallPart = Extract<Part, { kind: "tool-call" }>;
export type GatewayCallPart = Extract<Part, { kind: "builtin-call" }>;

export interface TurnEnd {
  readonly type: "end";
  readonly finish: FinishReason;
  /** The finish reason of the last call as the engine spelled it. */
  readonly nativeReason: string | null;
  /** The stop string that ended the answer. */
  readonly stopSequence?: string;
  readonly usage: TurnUsage;
  /** With finish `error` only: the demand that was not met. */
  readonly failure?: TurnFailure;
  /** Repairs made, by name and count. */
  readonly recoveries: ReadonlyMap<string, number>;
  /** The trained tools of calls that could not be converted, and were explained to the model. */
  readonly invalidCalls?: readonly string[];
  /** With tools that the gateway runs: by tool name, what a turn that continues this one needs. */
  readonly toolStates?: ReadonlyMap<string, string>;
}

export interface TurnFailure {
  readonly kind: "invalid_answer" | "invalid_tool_call";
  readonly message: string;
}

export type FinishReason = "stop" | "length" | "tool-calls" | "error";

/**
 * Token counts. Prompt tokens are those of the first engine call; completion tokens are summed over all
 * calls.
 */
export interface TurnUsage {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  /** All sampled tokens, reasoning included. */
  readonly completionTokens: number;
  readonly reasoningTokens: number;
  readonly engineCalls: number;
  /** With tools that the gateway runs. */
  readonly gatewayTools?: GatewayToolUsage;
}

export interface GatewayToolUsage {
  readonly requested: number;
  readonly executed: number;
  readonly searches: number;
  /** Pages opened. */
  readonly opens: number;
  /** Tokens of results. They are no part of the prompt's or the completion's. */
  readonly outputTokens: number;
}
