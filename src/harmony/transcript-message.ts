/** A message of a transcript, and what closed it. */
import type { Message } from "./conversation.ts";

/** What closed a message; `cut`: the end of the input. */
export type MessageEnd = "end" | "call" | "return" | "cut";

export interface TranscriptMessage {
  readonly message: Message & { readonly content: string };
  readonly end: MessageEnd;
}
