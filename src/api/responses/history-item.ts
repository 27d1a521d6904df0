/** An item of the conversation, as the prompt is made from it. */
import type { Message } from "../../harmony/conversation.ts";
import type { Content } from "./items.ts";
import type { Tool } from "./tool-schemas.ts";

/** An item as `to-turn.ts` reads it. `param` is its field in the request, for errors. */
export type HistoryItem =
  | {
      readonly type: "message";
      readonly role: "user" | "system" | "developer";
      readonly content: Content;
      readonly param: string;
    }
  | {
      readonly type: "assistant";
      /** An answer ended its turn; commentary preceded a call. */
      readonly isAnswer: boolean;
      readonly content: Content;
      readonly param: string;
    }
  | { readonly type: "reasoning"; readonly text: string }
  /** A call that the gateway ran, and its result. */
  | { readonly type: "kept-call"; readonly messages: readonly Message[] }
  | {
      readonly type: "call";
      readonly callId: string;
      readonly namespace?: string | undefined;
      readonly name: string;
      /** As the model writes it: JSON arguments, or a text. */
      readonly body: string;
      readonly form: "json" | "raw";
    }
  | {
      readonly type: "output";
      readonly callId: string;
      readonly content: Content;
      readonly param: string;
    }
  /** Tools that are offered from here on. `callId`: a search has found them. */
  | {
      readonly type: "tools";
      readonly tools: readonly Tool[];
      readonly callId: string | undefined;
      readonly param: string;
    }
  /** The summary in a compaction item. */
  | { readonly type: "summary"; readonly text: string }
  | { readonly type: "unsupported"; readonly kind: string; readonly param: string };
