/** A message of a transcript, and its end. */
import type { Message } from "./conversation.ts";

/** The end of a message: its closing token, or `cut` for the end of the input. */
export type MessageEnd = "end" | "call" | "return" | "cut";

export interface TranscriptMessage {
  readonly message: Message & { readonly content: string };
  readonly end: MessageEnd;
}
