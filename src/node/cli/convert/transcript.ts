/** A conversation between two formats: Harmony's messages, and data that they cannot hold. */
import type { Message } from "../../../harmony/conversation.ts";

export interface Transcript {
  readonly messages: readonly Message[];
  /** The id of the call or reply at the same index. */
  readonly callIds: readonly (string | undefined)[];
  /** Indexes of messages without an end. Loss masks leave them out, and the last message stays open. */
  readonly cut: ReadonlySet<number>;
  /** Names of losses during reading. */
  readonly losses: readonly string[];
}

export type Format = "openchatml" | "harmony" | "chat";
export type Target = Format | "ids";

/**
 * - `history`: messages as they stand in a history, closed with `<|end|>`
 * - `training`: like `history`, but a final answer at the end closes with `<|return|>`
 * - `prompt`: the analysis of finished turns is left out, and the assistant's next message is opened
 */
export type Mode = "history" | "training" | "prompt";

/** A line that cannot be converted. */
export class LineError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = "LineError";
    this.code = code;
  }
}
