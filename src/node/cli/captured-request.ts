/** Reads the conversation from a client's request to any of the APIs, alone or in the record of a turn. */
import * as z from "zod";
import { chatRequest } from "../../api/chat-completions/request.ts";
import { toConversation as toChatConversation } from "../../api/chat-completions/to-turn.ts";
import { countRequest } from "../../api/messages/request.ts";
import { toConversation as toMessagesConversation } from "../../api/messages/to-turn.ts";
import { toMediaRules } from "../../api/request/content-text.ts";
import { parseBody, parseWith } from "../../api/request/parse-request.ts";
import { plainHistory } from "../../api/responses/plain-history.ts";
import { responsesRequest } from "../../api/responses/request.ts";
import { toConversation } from "../../api/responses/to-turn.ts";
import type { CollectedHistory } from "../../api/turn/prompt-history.ts";
import type { SystemOptions } from "../../harmony/messages.ts";

/** Throws a `RequestError` for a request that the API would reject. */
export function requestConversation(
  text: string,
  system: Omit<SystemOptions, "effort">,
): CollectedHistory {
  const { bodyText, path } = unwrap(text);
  const body = parseBody(bodyText);
  const mediaRules = toMediaRules("placeholder", "placeholder");
  const own = { turnId: "captured", tenant: "captured", bodyText, system, mediaRules };
  const hosted = { toolbox: {}, maxCalls: 1, timeoutMs: 1, citations: "link" } as const;
  if (!("messages" in body) && ("input" in body || "instructions" in body)) {
    const request = parseWith(responsesRequest, { model: "gpt-oss", ...body });
    const unsupported = { kinds: "skip", mediaRules } as const;
    const history = plainHistory(request.input);
    const maxTools = Number.POSITIVE_INFINITY;
    const context = { ...own, hosted, unsupported, history, style: "own", maxTools } as const;
    return toConversation(request, context);
  }
  if (path?.endsWith("/messages") || isMessagesRequest(body)) {
    return toMessagesConversation(parseWith(countRequest, body), { ...own, hosted });
  }
  return toChatConversation(parseWith(chatRequest, body), { ...own, restored: new Map() });
}

/** Whether a request has the members of the Messages API. */
export function isMessagesRequest(body: object): boolean {
  if (!("messages" in body) || !("max_tokens" in body)) return false;
  const tools: readonly unknown[] = "tools" in body && Array.isArray(body.tools) ? body.tools : [];
  return "system" in body || tools.some((tool) => "input_schema" in Object(tool));
}

/** Whether a text is a request rather than model output. */
export function isRequest(text: string): boolean {
  if (!text.trimStart().startsWith("{")) return false;
  try {
    const body = parseBody(unwrap(text).bodyText);
    return "messages" in body || "input" in body;
  } catch {
    return false;
  }
}

const record = z.object({
  request: z.object({
    path: z.string().optional(),
    body: z.union([z.string(), z.record(z.string(), z.unknown())]),
  }),
});

/** Returns the request in the record of a turn; any other text as a request of an unknown path. */
function unwrap(text: string): { readonly bodyText: string; readonly path?: string | undefined } {
  const found = record.safeParse(parseBody(text));
  if (!found.success) return { bodyText: text };
  const { body, path } = found.data.request;
  return { bodyText: typeof body === "string" ? body : JSON.stringify(body), path };
}
