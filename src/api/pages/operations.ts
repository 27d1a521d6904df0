/** Every route that serves something, for the OpenAPI document. A test compares it with the application's routes. */
import type { z } from "zod";
import { chatRequest } from "../chat-completions/request.ts";
import { countRequest, messagesRequest } from "../messages/request.ts";
import {
  changedConversation,
  newConversation,
  newItems,
} from "../responses/conversation-routes.ts";
import { compactRequest, inputTokensRequest, responsesRequest } from "../responses/request.ts";

export type Tag =
  | "Chat Completions"
  | "Responses"
  | "Conversations"
  | "Messages"
  | "Models"
  | "Operation";

export interface Operation {
  readonly method: "get" | "post" | "delete";
  /** With parameters in braces. */
  readonly path: string;
  readonly tag: Tag;
  readonly summary: string;
  /** The name and the schema that checks the request's body. */
  readonly body?: readonly [name: string, schema: z.ZodType];
  /** What a successful answer is. Default: JSON. */
  readonly answers?: "json-or-events" | "text" | "html";
  /** No key is needed, even where the gateway has keys. */
  readonly isOpen?: boolean;
}

export const OPERATIONS: readonly Operation[] = [
  {
    method: "post",
    path: "/v1/chat/completions",
    tag: "Chat Completions",
    summary: "Answer a conversation, as a whole or, with stream, in events.",
    body: ["ChatCompletionRequest", chatRequest],
    answers: "json-or-events",
  },
  {
    method: "post",
    path: "/v1/responses",
    tag: "Responses",
    summary:
      "Answer an input, as a whole, in events (stream) or later (background). A GET that asks for an upgrade opens a WebSocket.",
    body: ["ResponseRequest", responsesRequest],
    answers: "json-or-events",
  },
  {
    method: "post",
    path: "/v1/responses/input_tokens",
    tag: "Responses",
    summary: "Count the tokens of an input without asking the model.",
    body: ["InputTokensRequest", inputTokensRequest],
  },
  {
    method: "post",
    path: "/v1/responses/compact",
    tag: "Responses",
    summary: "Shorten a conversation to what the model needs of it.",
    body: ["CompactRequest", compactRequest],
  },
  {
    method: "get",
    path: "/v1/responses/{id}",
    tag: "Responses",
    summary: "A stored response; with stream, the events of a background response.",
    answers: "json-or-events",
  },
  {
    method: "delete",
    path: "/v1/responses/{id}",
    tag: "Responses",
    summary: "Delete a stored response.",
  },
  {
    method: "post",
    path: "/v1/responses/{id}/cancel",
    tag: "Responses",
    summary: "Stop a background response.",
  },
  {
    method: "get",
    path: "/v1/responses/{id}/input_items",
    tag: "Responses",
    summary: "The input of a stored response.",
  },
  {
    method: "post",
    path: "/v1/conversations",
    tag: "Conversations",
    summary: "Create a conversation.",
    body: ["NewConversation", newConversation],
  },
  {
    method: "get",
    path: "/v1/conversations/{id}",
    tag: "Conversations",
    summary: "A conversation's metadata.",
  },
  {
    method: "post",
    path: "/v1/conversations/{id}",
    tag: "Conversations",
    summary: "Change a conversation's metadata.",
    body: ["ChangedConversation", changedConversation],
  },
  {
    method: "delete",
    path: "/v1/conversations/{id}",
    tag: "Conversations",
    summary: "Delete a conversation.",
  },
  {
    method: "get",
    path: "/v1/conversations/{id}/items",
    tag: "Conversations",
    summary: "The items of a conversation.",
  },
  {
    method: "post",
    path: "/v1/conversations/{id}/items",
    tag: "Conversations",
    summary: "Add items to a conversation.",
    body: ["NewItems", newItems],
  },
  {
    method: "get",
    path: "/v1/conversations/{id}/items/{item}",
    tag: "Conversations",
    summary: "One item.",
  },
  {
    method: "delete",
    path: "/v1/conversations/{id}/items/{item}",
    tag: "Conversations",
    summary: "Remove one item.",
  },
  {
    method: "post",
    path: "/v1/messages",
    tag: "Messages",
    summary: "Answer a conversation in the form of Anthropic's API.",
    body: ["MessagesRequest", messagesRequest],
    answers: "json-or-events",
  },
  {
    method: "post",
    path: "/v1/messages/count_tokens",
    tag: "Messages",
    summary: "Count the tokens of a conversation without asking the model.",
    body: ["CountTokensRequest", countRequest],
  },
  { method: "get", path: "/v1/models", tag: "Models", summary: "The models that are served." },
  {
    method: "get",
    path: "/v1/models/user",
    tag: "Models",
    summary: "The models a key may use: all of them.",
  },
  {
    method: "get",
    path: "/v1/models/{id}",
    tag: "Models",
    summary: "One model, or with /endpoints behind its name who answers for it.",
  },
  {
    method: "get",
    path: "/v1/model/{id}",
    tag: "Models",
    summary: "The same under the address that OpenRouter's clients ask.",
  },
  {
    method: "get",
    path: "/",
    tag: "Operation",
    summary: "What this is, for browsers.",
    answers: "html",
    isOpen: true,
  },
  {
    method: "get",
    path: "/api",
    tag: "Operation",
    summary: "This document as a page.",
    answers: "html",
    isOpen: true,
  },
  {
    method: "get",
    path: "/openapi.json",
    tag: "Operation",
    summary: "This document.",
    isOpen: true,
  },
  {
    method: "get",
    path: "/health",
    tag: "Operation",
    summary: "200 while the process answers.",
    isOpen: true,
  },
  {
    method: "get",
    path: "/ready",
    tag: "Operation",
    summary: "200 while at least one model can answer, otherwise 503.",
    isOpen: true,
  },
  {
    method: "get",
    path: "/metrics",
    tag: "Operation",
    summary: "Metrics for Prometheus, with a key, open or off by the setting metrics.",
    answers: "text",
  },
];
