/** Converts a conversation to the body of each API, and back. */
import { fromChatBody, toChatBody } from "./bodies/chat.ts";
import { fromMessagesBody, toMessagesBody } from "./bodies/messages.ts";
import { fromResponsesBody, toResponsesBody } from "./bodies/responses.ts";
import type { ApiName, Body, Composed } from "./composed.ts";

interface BodyForm {
  readonly to: (composed: Composed) => Body;
  readonly from: (body: Body) => Composed;
}

const FORMS: Readonly<Record<ApiName, BodyForm>> = {
  chat: { to: toChatBody, from: fromChatBody },
  responses: { to: toResponsesBody, from: fromResponsesBody },
  messages: { to: toMessagesBody, from: fromMessagesBody },
};

/** Creates a body, without `stream`. */
export function toBody(api: ApiName, composed: Composed): Body {
  return FORMS[api].to(composed);
}

/** Parses a body. Members of the wrong type are left out. */
export function fromBody(api: ApiName, body: Body): Composed {
  return FORMS[api].from(body);
}
