/** A turn in the list of turns. */
export interface TurnSummary {
  readonly at: string;
  readonly id: string;
  readonly api: string | null;
  readonly tenant: string;
  /** The program that sent the request, without its version. Null: it is unknown. */
  readonly client: string | null;
  /** The conversation that the turn belongs to; null for a request without a turn. */
  readonly conversation: Conversation | null;
  readonly model: string;
  /** The id of the turn from which the request was made, as sent by the client. */
  readonly forkedFrom: string | null;
  /** The backend of the last answer. */
  readonly backend: string | null;
  /** The beginning of the last user message; empty if content is not kept. */
  readonly words: string;
  /** False: texts and ids are left out of its record. */
  readonly hasContent: boolean;
  /** Outcome as in the record's `end`; `running` before it. */
  readonly outcome: string;
  /** The HTTP status of the answer. */
  readonly status: number | null;
  /** The reason why the request was rejected or its turn failed. Null: there was no error, or content is not kept. */
  readonly problem: string | null;
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  /** Prompt tokens that the engine had in its cache. */
  readonly cachedTokens: number | null;
  /** Milliseconds since the request was accepted. */
  readonly firstTokenMs: number | null;
  readonly ms: number | null;
  /** Decisions by which the gateway wrote or constrained output. */
  readonly steered: readonly string[];
  /** Names of the recoveries. */
  readonly repairs: readonly string[];
  readonly reasoningFrom: string | null;
  /** Names of the called functions and tools. */
  readonly calls: readonly string[];
}

/** Turns of one conversation have the same `id`. */
export interface Conversation {
  readonly id: string;
  /**
   * `session`: the client identifies the conversation, by a header or a field. `beginning`: its turns begin with the same
   * messages.
   */
  readonly by: "session" | "beginning";
}
