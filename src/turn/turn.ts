/**
 * One request to the model, whichever API asked, and what comes out of it.
 *
 * The waist of the gateway: every API makes a `Turn` and reads `TurnEvent`s; nothing of an API's wire
 * reaches below, nothing of an engine's wire reaches above.
 */
import type { Sampling, TokenLogprob } from "../engines/engine.ts";
import type { Message } from "../harmony/conversation.ts";
import type { Json } from "../harmony/json.ts";
import type { SchemaChecker } from "../json-schema/index.ts";
import type { BuiltinTool } from "../tools/builtin-tool.ts";

export interface Turn {
  /** Appears in logs and, where the engine takes one, as its request id. */
  readonly id: string;
  /** The whole conversation, system message first, finished turns' analysis not yet dropped. */
  readonly messages: readonly Message[];
  /** The functions the model may call. Their signatures are in the developer message already. */
  readonly tools: readonly OfferedTool[];
  /** Tools that the gateway runs. Absent: none. */
  readonly builtins?: TurnBuiltins;
  readonly toolChoice: ToolChoice;
  /** Keep sampling after a call to see whether there is another. False: at most one call. */
  readonly parallelToolCalls: boolean;
  readonly answer: AnswerFormat;
  readonly reasoning: ReasoningDemand;
  /** Strings that end the answer; matched on the final channel only, never returned. */
  readonly stop: readonly string[];
  /**
   * What stands between preamble and answer where a client reads them as one text: no stop string is shown across it.
   * Absent: they are shown apart.
   */
  readonly textSeparator?: string;
  /** Most tokens over all engine calls, reasoning included. Absent: what the context leaves. */
  readonly maxOutputTokens?: number;
  readonly sampling: Sampling;
  /** Log probabilities of the visible answer's tokens, with this many alternatives. */
  readonly topLogprobs?: number;
  /**
   * The beginning of the answer, to be continued (see `settlePrefill`). It is not repeated in the events.
   */
  readonly prefill?: string;
  /** Whose request it is: separates caches and stores. */
  readonly tenant: string;
  /**
   * Requests with the same affinity go to the same backend, so that its prefix cache is hit. Absent: how the
   * conversation begins.
   */
  readonly affinity?: string;
}

export interface OfferedTool {
  readonly name: string;
  /** JSON Schema of the arguments. Absent: none are taken. */
  readonly parameters?: Json;
  /** Arguments must satisfy the schema. */
  readonly strict: boolean;
  /** The compiled schema, of every tool whose arguments must satisfy it: strict ones and those that must be called. */
  readonly checker?: SchemaChecker;
}

/** The tools that the gateway runs during a turn. Their namespaces and functions are in the messages already. */
export interface TurnBuiltins {
  readonly tools: readonly BuiltinTool[];
  /** Most calls to all of them together. A further one is answered with an error, and the answer is opened. */
  readonly maxCalls: number;
  /** By tool name: what its run in the turn before saved. */
  readonly saved?: ReadonlyMap<string, string>;
  /** The first call must be to this recipient: `browser.search`, `python`. */
  readonly forced?: string;
  /** Calls the client has approved: made before anything is sampled. */
  readonly approved?: readonly ApprovedCall[];
}

export interface ApprovedCall {
  readonly recipient: string;
  readonly body: string;
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
  /** `false`: the answer is opened at once, nothing is thought. */
  readonly enabled: boolean;
  /** Analysis is cut after this many tokens and the answer opened. */
  readonly maxTokens?: number;
}

/**
 * Parts open and close in the order the model wrote them and never overlap: `part-start`, any number
 * of `part-delta`, `part-end`. `start` comes first, `end` last, each exactly once.
 */
export type TurnEvent =
  /** The engine has accepted the request. `promptTokens`: of the prompt it was sent. */
  | { readonly type: "start"; readonly promptTokens: number }
  | { readonly type: "part-start"; readonly part: Part }
  | {
      readonly type: "part-delta";
      readonly text: string;
      readonly logprobs?: readonly TokenLogprob[];
    }
  | {
      readonly type: "part-end";
      /** Of a reasoning part, for clients that carry what they cannot read: its text, sealed. */
      readonly sealed?: string;
    }
  | TurnEnd;

export type Part =
  /** Chain of thought: one part for each analysis message. */
  | { readonly kind: "reasoning" }
  /** Commentary for the user, before a call or an answer. */
  | { readonly kind: "preamble" }
  | { readonly kind: "content" }
  | { readonly kind: "tool-call"; readonly id: string; readonly name: string };

export interface TurnEnd {
  readonly type: "end";
  readonly finish: FinishReason;
  /** The engine's own word for the end of the last call. */
  readonly nativeReason: string | null;
  /** The stop string that ended the answer. */
  readonly stopSequence?: string;
  readonly usage: TurnUsage;
  /** With finish `error` only: the demand the model did not meet. */
  readonly failure?: TurnFailure;
  /** Which repairs the parser made, and how often. */
  readonly recoveries: ReadonlyMap<string, number>;
}

export interface TurnFailure {
  readonly kind: "invalid_answer" | "invalid_tool_call";
  readonly message: string;
}

export type FinishReason = "stop" | "length" | "tool-calls" | "error";

/** Token counts. The prompt is that of the first engine call; completions of all calls are added up. */
export interface TurnUsage {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  /** All sampled tokens, reasoning included. */
  readonly completionTokens: number;
  readonly reasoningTokens: number;
  readonly engineCalls: number;
}
