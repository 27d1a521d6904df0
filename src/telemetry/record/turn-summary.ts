/** A turn in the list of turns. */
export interface TurnSummary {
  readonly at: string;
  readonly id: string;
  readonly api: string | null;
  readonly tenant: string;
  readonly model: string;
  /** The beginning of the last user message; empty if content is not kept. */
  readonly words: string;
  /** As in the record's `end`; `running` before it. */
  readonly outcome: string;
  /** The HTTP status of the answer. */
  readonly status: number | null;
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  /** Milliseconds since the request was accepted. */
  readonly firstTokenMs: number | null;
  readonly ms: number | null;
  /** Decisions by which the gateway wrote or constrained something. */
  readonly steered: readonly string[];
  /** Names of the recoveries. */
  readonly repairs: readonly string[];
  readonly reasoningFrom: string | null;
  /** Names of the called functions and tools. */
  readonly calls: readonly string[];
}
