/**
 * The interface of every inference engine.
 *
 * An engine continues a prompt of token ids and streams the sampled tokens, in the most exact form that its protocol allows. It
 * handles ids and text without any knowledge of Harmony: `harmony/` interprets the tokens, `turn/` decides on the next request.
 */
import type { TokenId } from "../tokenizer/tokenizer.ts";
import type { Sampling, SamplingParameter } from "./sampling.ts";

export interface Engine {
  /** The kind of server: `vllm`, `llama-cpp`, `demo`. */
  readonly name: string;
  /** Supported features, as far as known. `probe` may refine them. */
  readonly capabilities: Capabilities;
  /**
   * Queries the server's version, models and capabilities. Throws an {@link EngineError} if it cannot be
   * reached or does not serve the model.
   */
  probe(signal: AbortSignal): Promise<EngineProbe>;
  /**
   * Health check: cheap, without sampling. Throws an {@link EngineError} if the server is unhealthy; `not-found` if it has no
   * health endpoint after all. Absent: the kind has no health endpoint, so requests alone determine its health.
   */
  check?(signal: AbortSignal): Promise<void>;
  /**
   * Continues a prompt. The stream is `open` once the server has accepted the request (again when another server takes over
   * before the first token), then progress if the server reports it, then tokens, then exactly one `finish`. Failures throw an
   * {@link EngineError}, before or after the first token. Aborting the signal, or leaving the iteration early, closes the
   * connection, which makes the server stop generating.
   */
  complete(request: CompletionRequest, signal: AbortSignal): AsyncIterable<EngineEvent>;
}

/** The prompt of a completion. Each form is computed on first use. */
export interface Prompt {
  /** Number of ids. Cheap, unlike `ids.length`, which joins the ids of a long conversation. */
  readonly length: number;
  readonly ids: readonly TokenId[];
  /**
   * The ids as JSON in UTF-8, each after a comma: `,200006,17360`. The parts may be cached elsewhere: do not change them.
   */
  idsJson(): readonly Uint8Array[];
  /**
   * The prompt as text, control tokens spelled out. Where user text spells a control token, the spelling is
   * visibly broken, because a server that reads text would tokenise it as that token.
   */
  text(): string;
}

export interface CompletionRequest {
  readonly prompt: Prompt;
  /** Maximum number of tokens to sample, at least 1. */
  readonly maxTokens: number;
  readonly sampling: Sampling;
  /** Ids that end the completion, in addition to the model's own end-of-generation ids. */
  readonly stopIds: readonly TokenId[];
  /** A constraint from the first sampled token on. Only for engines whose capabilities list its type. */
  readonly constraint?: Constraint;
  /** Request the log probability of each token and of this number of alternatives, 0 to 20. */
  readonly topLogprobs?: number;
  /** Separates the prefix caches of tenants, where the engine supports it. */
  readonly cacheSalt?: string;
  /** Request id for the engine's logs, if it accepts one. */
  readonly requestId: string;
  /** The tenant whose admission limits apply; never sent to a server. */
  readonly tenant?: string;
  /** Requests with the same affinity go to the same server if possible, to hit its prefix cache. */
  readonly affinity?: string;
  /** Further headers of the request to the server, if it is reached over HTTP. Read when the request is sent. */
  readonly headers?: () => Readonly<Record<string, string>>;
  /** Called by a pool with each backend that it tries, and with the backend's failure. */
  readonly onAttempt?: (attempt: AttemptFact) => void;
}

/** A pool requests a completion from one backend, or that request has failed. */
export type AttemptFact =
  | { readonly type: "attempt"; readonly backend: string }
  | { readonly type: "attempt-failed"; readonly backend: string; readonly error: unknown };

/** The form of the completion, from its first token on. */
export type Constraint =
  /** A JSON document that satisfies a JSON Schema, given as JSON text. */
  | { readonly type: "json-schema"; readonly schema: string }
  /** Any JSON object. */
  | { readonly type: "json-object" }
  /** A structural tag of xgrammar, as JSON text: control tokens are spelled out in it. */
  | { readonly type: "structural-tag"; readonly tag: string }
  /** A grammar in GBNF, in which `<[200008]>` is the token of that id. */
  | { readonly type: "token-grammar"; readonly grammar: string }
  /** A text of this grammar, in GBNF: the notation of llama.cpp, which xgrammar reads as well. */
  | { readonly type: "grammar"; readonly grammar: string }
  /** A text of this grammar in the notation of Lark. */
  | { readonly type: "lark"; readonly grammar: string }
  /** A text that matches this regular expression as a whole. */
  | { readonly type: "regex"; readonly pattern: string }
  /** One of these texts, and nothing after it. */
  | { readonly type: "choice"; readonly options: readonly string[] };

export type EngineEvent = EngineOpen | EngineProgress | EngineTokens | EngineFinish;

/** Progress of the server with the prompt, only ever increasing. Few servers report it. */
export interface EngineProgress {
  readonly type: "progress";
  /** Tokens of the prompt. */
  readonly total: number;
  /** Prompt tokens that were in the cache. */
  readonly cached: number;
  /** Prompt tokens that were processed, including cached ones. */
  readonly processed: number;
  /** Time since the server began with the prompt. */
  readonly elapsedMs: number;
}

export interface EngineOpen {
  readonly type: "open";
  /** The engine that answers, if the emitting engine is a pool. */
  readonly engine?: Engine;
}

/** The tokens of one network read: often one, many if they were buffered. */
export type EngineTokens =
  /** Exact ids. `logprobs` runs parallel to `ids` when the request has `topLogprobs`. */
  | {
      readonly type: "ids";
      readonly ids: readonly TokenId[];
      readonly logprobs?: readonly TokenLogprob[];
      /** Prompt tokens read from the cache, sent with the first tokens by a server that reports them before its finish. */
      readonly cachedTokens?: number;
    }
  /** Control tokens by id, the rest as text without control tokens: `llama-server` omits ids of split characters. */
  | {
      readonly type: "pieces";
      readonly pieces: readonly EnginePiece[];
      /** Tokens of each piece, parallel to `pieces`. A piece may hold the end of a character begun by earlier tokens. */
      readonly counts: readonly number[];
    }
  /** Text in which control tokens are spelled out. */
  | { readonly type: "text"; readonly text: string; readonly tokens?: number };

/** A part of the output of an engine whose ids are `lossy`: a control token, or the text of other tokens. */
export type EnginePiece = { readonly special: TokenId } | { readonly text: string };

export interface EngineFinish {
  readonly type: "finish";
  /** `stop`: the model ended or a stop id was sampled. `length`: the token limit or the context was reached. */
  readonly reason: "stop" | "length";
  /** The server's own name for the reason, null if it gave none. */
  readonly nativeReason: string | null;
  /** Token counts of this call, as far as the server reports them. */
  readonly usage?: EngineUsage;
}

export interface EngineUsage {
  readonly promptTokens?: number;
  readonly cachedTokens?: number;
  readonly completionTokens?: number;
}

/** OpenAI's value for a token whose log probability is not known. */
export const NO_LOGPROB = -9999;

export interface TokenLogprob {
  readonly id: TokenId;
  readonly logprob: number;
  readonly top: readonly { readonly id: TokenId; readonly logprob: number }[];
}

/** The features of an engine, as data: `turn/` chooses its strategy by them, and the docs' table is generated from them. */
export interface Capabilities {
  /** Prompts may be sent as ids. Without this, user text is altered where it spells a control token. */
  readonly idsIn: boolean;
  /**
   * `exact`: every sampled id arrives. `lossy`: only control ids do. `none`: only text, in which control tokens are spelled out.
   * `unmarked`: only text, without control tokens, so reasoning cannot be told from the answer with certainty.
   */
  readonly idsOut: "exact" | "lossy" | "none" | "unmarked";
  /** For text engines: the probe saw control tokens in the text. Absent: unknown, so each answer is checked. */
  readonly showsMarkers?: boolean;
  /** The end-of-generation token is part of the output. */
  readonly stopIdVisible: boolean;
  /** `stopIds` are honoured. Otherwise the turn itself stops at them. */
  readonly stopIds: boolean;
  readonly constraints: readonly Constraint["type"][];
  readonly logprobs: boolean;
  /** Sampling parameters that the server honours; others are dropped. */
  readonly sampling: readonly SamplingParameter[];
}

export interface EngineProbe {
  /** The server's own description, for the log: `vllm 0.14.1`. */
  readonly description: string;
  /** Tokens of prompt and completion together, if the server reports them. */
  readonly contextLength?: number;
  /** Models of the server, if it lists them. */
  readonly models?: readonly string[];
  /** Sentences for the operator in the log, about ignored or missing features. */
  readonly warnings?: readonly string[];
  readonly capabilities: Capabilities;
}
