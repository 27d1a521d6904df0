/** An item of the conversation from which the prompt is made. */
import type { McpTool } from "../../tools/mcp/connection.ts";
import type { Item } from "../turn/history.ts";
import type { Content, TextFormat } from "./items.ts";
import type { Tool } from "./tool-schemas.ts";
import type { MediaRules } from "../request/content-text.ts";

/** An MCP item. Tool names are the server's. */
export type McpHistoryItem =
  /** Absent: the listing failed. */
  | {
      readonly type: "mcp-list";
      readonly label: string;
      readonly tools: readonly McpTool[] | undefined;
    }
  /** A call in the history. Undefined result: the call was not run. */
  | ({ readonly type: "mcp-call"; readonly result: string | undefined } & McpCall)
  /** A request for approval of this call. */
  | ({ readonly type: "mcp-request"; readonly id: string } & McpCall)
  | {
      readonly type: "mcp-response";
      readonly requestId: string;
      readonly approve: boolean;
      readonly reason: string | undefined;
      readonly param: string;
    };

export interface McpCall {
  readonly server: string;
  readonly tool: string;
  readonly body: string;
}

/** An item whose media are not yet texts. `param`: the item's field in the request, for errors. */
export type HistoryItem =
  | Extract<Item, { readonly type: "reasoning" | "summary" | "kept-call" | "call" }>
  | {
      readonly type: "message";
      readonly role: "user" | "system" | "developer";
      readonly content: Content;
      readonly param: string;
    }
  | {
      readonly type: "assistant";
      /** True: the text is an answer, which ended its turn. False: it is commentary, which preceded a call. */
      readonly isAnswer: boolean;
      readonly content: Content;
      readonly param: string;
    }
  | {
      readonly type: "result";
      readonly callId: string;
      readonly content: Content;
      readonly param: string;
    }
  /** A search that the gateway has run. */
  | { readonly type: "search"; readonly body: string }
  /**
   * Tools that are offered from here on. `callId`: the client's search that found them. `isFound`: the gateway's search
   * found them.
   */
  | {
      readonly type: "tools";
      readonly tools: readonly Tool[];
      readonly callId: string | undefined;
      readonly isFound?: boolean;
      readonly param: string;
    }
  | McpHistoryItem
  /** Settings that apply from here on, in place of the request's fields. */
  | {
      readonly type: "configuration";
      readonly effort: string | null | undefined;
      readonly format: TextFormat | null | undefined;
    }
  | { readonly type: "unsupported"; readonly kind: string; readonly param: string };

export interface Unsupported {
  /** Whether tools and items of hosted kinds are left out, or answered with 400. */
  readonly kinds: "skip" | "refuse";
  /** Handling of images and files. */
  readonly mediaRules: MediaRules;
}
