/**
 * The one contract over every inference server.
 *
 * An engine continues a prompt of token ids and gives back what it sampled, in the best form its wire
 * allows. It knows ids and text, never Harmony: where a message begins and which channel it is on is
 * the business of `harmony/`, what to ask for next is the business of `turn/`.
 */
import type { TokenId } from "../tokenizer/tokenizer.ts";

export interface Engine {
  /** The kind of server: `vllm`, `llama-cpp`, `demo`. */
  readonly name: string;
  /** What this server can do, as found so far. `probe` may replace it by something more exact. */
  readonly capabilities: Capabilities;
  /**
   * Ask the server what it is. Throws an {@link EngineError} when it cannot be reached or does not
   * serve the model.
   */
  probe(signal: AbortSignal): Promise<EngineProbe>;
  /**
   * Ask the server whether it is well: cheap, nothing is sampled. Throws an {@link EngineError} when it
   * is not. Absent where there is no such question; its requests then have to tell.
   */
  check?(signal: AbortSignal): Promise<void>;
  /**
   * Continue a prompt. The stream is `open` once the server has accepted the request (again when another server takes
   * over before the first token), then tokens, then exactly one `finish`. Failures throw an {@link EngineError}, before or after the first token.
   * Aborting the signal, or leaving the iteration early, closes the connection, which makes
   * the server stop generating.
   */
  complete(request: CompletionRequest, signal: AbortSignal): AsyncIterable<EngineEvent>;
}

/** What to continue. Each form is made on first use: an engine asks for the one it sends. */
export interface Prompt {
  readonly ids: readonly TokenId[];
  /** The ids as JSON text without brackets, `200006,17360`: cheaper than stringifying 100,000 numbers. */
  idsJson(): string;
  /**
   * The prompt as text, control tokens spelled out. Spellings of control tokens inside what users wrote
   * have been broken visibly, because a server that reads text would take them for the real thing.
   */
  text(): string;
}

export interface CompletionRequest {
  readonly prompt: Prompt;
  /** Most tokens to sample, at least 1. */
  readonly maxTokens: number;
  readonly sampling: Sampling;
  /** End the completion after any of these ids, besides the model's own end-of-generation ids. */
  readonly stopIds: readonly TokenId[];
  /** Holds from the first sampled token on. Only for engines whose capabilities list its type. */
  readonly constraint?: Constraint;
  /** Ask for the log probability of each token and of this many alternatives, 0 to 20. */
  readonly topLogprobs?: number;
  /** Keeps prefix caches of tenants apart, where the engine has such a thing. */
  readonly cacheSalt?: string;
  /** Appears in the engine's logs, where it takes a request id. */
  readonly requestId: string;
  /** Whose request it is. Decides its share of the backends; never sent to one. */
  readonly tenant?: string;
  /** Requests with the same affinity go to the same server, so that its prefix cache is hit. */
  readonly affinity?: string;
}

/**
 * Every value is sent, also the neutral ones: servers' own defaults are not the API's (llama-server
 * samples at temperature 0.8 with top_k 40 unless told otherwise).
 */
export interface Sampling {
  readonly temperature: number;
  readonly topP: number;
  /** 0: off. */
  readonly topK: number;
  readonly minP: number;
  readonly frequencyPenalty: number;
  readonly presencePenalty: number;
  /** 1: off. */
  readonly repetitionPenalty: number;
  readonly seed?: number;
  /** Added to the logits, -100 to 100. */
  readonly logitBias?: ReadonlyMap<TokenId, number>;
}

/** What the completion must look like, from its first token on. */
export type Constraint =
  /** A JSON document that satisfies a JSON Schema, given as JSON text. */
  | { readonly type: "json-schema"; readonly schema: string }
  /** Any JSON object. */
  | { readonly type: "json-object" }
  /** A structural tag of xgrammar, as JSON text: control tokens are spelled out in it. */
  | { readonly type: "structural-tag"; readonly tag: string }
  /** A grammar in GBNF, in which `<[200008]>` is the token of that id. */
  | { readonly type: "token-grammar"; readonly grammar: string }
  /** One of these texts, and nothing after it. */
  | { readonly type: "choice"; readonly options: readonly string[] };

export type EngineEvent = EngineOpen | EngineTokens | EngineFinish;

export interface EngineOpen {
  readonly type: "open";
  /** The engine that answers, where this one stands for several. */
  readonly engine?: Engine;
}

/** What one read from the server brought: often one token, many when they queued up. */
export type EngineTokens =
  /** Exact ids. `logprobs` runs parallel to `ids` when it was asked for. */
  | {
      readonly type: "ids";
      readonly ids: readonly TokenId[];
      readonly logprobs?: readonly TokenLogprob[];
    }
  /** Control tokens by id, the rest as text that holds none: `llama-server` loses ids of split characters. */
  | {
      readonly type: "pieces";
      readonly pieces: readonly Piece[];
      /** Tokens of each piece, parallel to `pieces`. A piece may hold the end of a character begun by earlier tokens. */
      readonly counts: readonly number[];
    }
  /** Text in which control tokens are spelled out. */
  | { readonly type: "text"; readonly text: string; readonly tokens?: number };

export type Piece = { readonly special: TokenId } | { readonly text: string };

export interface EngineFinish {
  readonly type: "finish";
  /** `stop`: the model ended or a stop id was met. `length`: the token limit or the context was reached. */
  readonly reason: "stop" | "length";
  /** The server's own word for it, null when it gave none. */
  readonly nativeReason: string | null;
  /** Counts of this call, as far as the server reports them. */
  readonly usage?: EngineUsage;
}

export interface EngineUsage {
  readonly promptTokens?: number;
  readonly cachedTokens?: number;
  readonly completionTokens?: number;
}

export interface TokenLogprob {
  readonly id: TokenId;
  readonly logprob: number;
  readonly top: readonly { readonly id: TokenId; readonly logprob: number }[];
}

/** Capabilities are data: they pick the path, and the table in the docs is made from them. */
export interface Capabilities {
  /** Prompts may be sent as ids. Without this, user text is altered where it spells a control token. */
  readonly idsIn: boolean;
  /**
   * `exact`: every sampled id arrives. `lossy`: control ids do. `none`: only text, in which control tokens are
   * spelled out. `unmarked`: only text, without them, so that a thought cannot be told from an answer for certain.
   */
  readonly idsOut: "exact" | "lossy" | "none" | "unmarked";
  /** Text engines: control tokens were seen in its text. Absent: not known, each answer has to show it. */
  readonly showsMarkers?: boolean;
  /** The end-of-generation token that was sampled is visible to us. */
  readonly stopIdVisible: boolean;
  /** `stopIds` are honoured. Elsewhere the turn stops reading by itself. */
  readonly stopIds: boolean;
  readonly constraints: readonly Constraint["type"][];
  readonly logprobs: boolean;
  /** Sampling parameters the server honours; the others are dropped. */
  readonly sampling: readonly (keyof Sampling)[];
}

export interface EngineProbe {
  /** The server's own description, for the log: `vllm 0.14.1`. */
  readonly description: string;
  /** Tokens of prompt and completion together, when the server says so. */
  readonly contextLength?: number;
  /** Models the server offers, when it says so. */
  readonly models?: readonly string[];
  readonly capabilities: Capabilities;
}
