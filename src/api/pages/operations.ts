/** Every route, for the OpenAPI document. A test compares the list with the application's routes. */
import * as z from "zod";
import { lazy } from "../../lazy.ts";
import * as chat from "../chat-completions/reply-schema.ts";
import { chatRequest } from "../chat-completions/request.ts";
import * as messages from "../messages/reply-schema.ts";
import { countRequest, messagesRequest } from "../messages/request.ts";
import * as common from "../reply/reply-schema.ts";
import {
  changedConversation,
  newConversation,
  newItems,
} from "../responses/conversation-routes.ts";
import { responseEvent } from "../responses/reply-schema.ts";
import * as responses from "../responses/reply-schema.ts";
import { compactRequest, inputTokensRequest, responsesRequest } from "../responses/request.ts";

export type Tag =
  | "Chat Completions"
  | "Responses"
  | "Conversations"
  | "Messages"
  | "Models"
  | "Operation";

/** Created with the document. */
export type LazySchema = () => z.ZodType;

export interface Operation {
  readonly method: "get" | "post" | "delete";
  /** The path, with parameters in braces. */
  readonly path: string;
  readonly tag: Tag;
  readonly summary: string;
  /** Name and factory of the schema of the request's body. */
  readonly body?: readonly [name: string, schema: () => z.ZodType];
  /** The schema of a successful response in JSON. */
  readonly json?: LazySchema;
  /** The schema of each event's data, if the response can be a stream. */
  readonly events?: LazySchema;
  /** The media type of a text response. */
  readonly text?: "text/plain" | "text/html";
  /** Further statuses with the body of a successful response. */
  readonly alsoWith?: readonly number[];
  /** No key is required, even if the gateway has keys. */
  readonly isOpen?: boolean;
}

/** The list of models, in Anthropic's format for requests that name a version of its API. */
const modelList = lazy(() => z.union([common.modelList(), messages.messagesModelList()]));
const oneModel = lazy(() => z.union([common.modelOrEndpoints(), messages.messagesModel()]));
const anyObject = lazy(() => z.looseObject({}));

/** The envelope of each API's errors. */
export const ERRORS: Readonly<Record<Tag, LazySchema>> = {
  "Chat Completions": chat.chatError,
  Responses: responses.responsesErrorReply,
  Conversations: responses.responsesErrorReply,
  Messages: messages.messagesErrorReply,
  Models: lazy(() => z.union([chat.chatError(), messages.messagesErrorReply()])),
  Operation: chat.chatError,
};

export const OPERATIONS: readonly Operation[] = [
  {
    method: "post",
    path: "/v1/chat/completions",
    tag: "Chat Completions",
    summary: "Answer a conversation, as a whole or, with stream, in events.",
    body: ["ChatCompletionRequest", chatRequest.whole],
    json: chat.chatCompletion,
    events: chat.chatEvent,
  },
  {
    method: "post",
    path: "/v1/responses",
    tag: "Responses",
    summary:
      "Answer an input, as a whole, in events (stream) or later (background). A GET that asks for an upgrade opens a WebSocket.",
    body: ["ResponseRequest", responsesRequest.whole],
    json: responses.response,
    events: responseEvent,
  },
  {
    method: "post",
    path: "/v1/responses/input_tokens",
    tag: "Responses",
    summary: "Count the tokens of an input without asking the model.",
    body: ["InputTokensRequest", inputTokensRequest.whole],
    json: responses.inputTokens,
  },
  {
    method: "post",
    path: "/v1/responses/compact",
    tag: "Responses",
    summary: "Shorten a conversation to what the model needs of it.",
    body: ["CompactRequest", compactRequest.whole],
    json: responses.compactedConversation,
  },
  {
    method: "get",
    path: "/v1/responses/{id}",
    tag: "Responses",
    summary: "A stored response; with stream, the events of a background response.",
    json: responses.response,
    events: responseEvent,
  },
  {
    method: "delete",
    path: "/v1/responses/{id}",
    tag: "Responses",
    summary: "Delete a stored response.",
    json: responses.deletedResponse,
  },
  {
    method: "post",
    path: "/v1/responses/{id}/cancel",
    tag: "Responses",
    summary: "Stop a background response.",
    json: responses.response,
  },
  {
    method: "get",
    path: "/v1/responses/{id}/input_items",
    tag: "Responses",
    summary: "The input of a stored response.",
    json: responses.itemList,
  },
  {
    method: "post",
    path: "/v1/conversations",
    tag: "Conversations",
    summary: "Create a conversation.",
    body: ["NewConversation", () => newConversation],
    json: responses.conversation,
  },
  {
    method: "get",
    path: "/v1/conversations/{id}",
    tag: "Conversations",
    summary: "A conversation's metadata.",
    json: responses.conversation,
  },
  {
    method: "post",
    path: "/v1/conversations/{id}",
    tag: "Conversations",
    summary: "Change a conversation's metadata.",
    body: ["ChangedConversation", () => changedConversation],
    json: responses.conversation,
  },
  {
    method: "delete",
    path: "/v1/conversations/{id}",
    tag: "Conversations",
    summary: "Delete a conversation.",
    json: responses.deletedConversation,
  },
  {
    method: "get",
    path: "/v1/conversations/{id}/items",
    tag: "Conversations",
    summary: "The items of a conversation.",
    json: responses.itemList,
  },
  {
    method: "post",
    path: "/v1/conversations/{id}/items",
    tag: "Conversations",
    summary: "Add items to a conversation.",
    body: ["NewItems", () => newItems],
    json: responses.itemList,
  },
  {
    method: "get",
    path: "/v1/conversations/{id}/items/{item}",
    tag: "Conversations",
    summary: "One item.",
    json: responses.listedItem,
  },
  {
    method: "delete",
    path: "/v1/conversations/{id}/items/{item}",
    tag: "Conversations",
    summary: "Remove one item.",
    json: responses.conversation,
  },
  {
    method: "post",
    path: "/v1/messages",
    tag: "Messages",
    summary: "Answer a conversation in the form of Anthropic's API.",
    body: ["MessagesRequest", messagesRequest.whole],
    json: messages.message,
    events: messages.messageEvent,
  },
  {
    method: "post",
    path: "/v1/messages/count_tokens",
    tag: "Messages",
    summary: "Count the tokens of a conversation without asking the model.",
    body: ["CountTokensRequest", countRequest.whole],
    json: messages.tokenCount,
  },
  {
    method: "get",
    path: "/v1/models",
    tag: "Models",
    summary: "The models that are served.",
    json: modelList,
  },
  {
    method: "get",
    path: "/v1/models/user",
    tag: "Models",
    summary: "The models a key may use: all of them.",
    json: common.modelList,
  },
  {
    method: "get",
    path: "/v1/models/count",
    tag: "Models",
    summary: "The number of models.",
    json: common.modelCount,
  },
  {
    method: "get",
    path: "/v1/models/{id}",
    tag: "Models",
    summary: "One model, or with /endpoints behind its name who answers for it.",
    json: oneModel,
  },
  {
    method: "get",
    path: "/v1/model/{id}",
    tag: "Models",
    summary: "One model, where OpenRouter's clients ask for it.",
    json: common.modelReply,
  },
  {
    method: "get",
    path: "/",
    tag: "Operation",
    summary: "What this is, for browsers.",
    text: "text/html",
    isOpen: true,
  },
  {
    method: "get",
    path: "/api",
    tag: "Operation",
    summary: "This document as a page.",
    text: "text/html",
    isOpen: true,
  },
  {
    method: "get",
    path: "/openapi.json",
    tag: "Operation",
    summary: "This document.",
    isOpen: true,
    json: anyObject,
  },
  {
    method: "get",
    path: "/health",
    tag: "Operation",
    summary: "200 while the process answers.",
    isOpen: true,
    json: common.health,
  },
  {
    method: "get",
    path: "/ready",
    tag: "Operation",
    summary: "200 while at least one model can answer, otherwise 503.",
    isOpen: true,
    json: common.readiness,
    alsoWith: [503],
  },
  {
    method: "get",
    path: "/metrics",
    tag: "Operation",
    summary: "Metrics for Prometheus, with a key, open or off by the setting metrics.",
    text: "text/plain",
  },
];
