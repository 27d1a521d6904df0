/** Reads the conversation from a client's request to either API, alone or in the record of a turn. */
import * as z from "zod";
import { chatRequest } from "../../api/chat-completions/request.ts";
import { toConversation as toChatConversation } from "../../api/chat-completions/to-turn.ts";
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
  const bodyText = unwrap(text);
  const body = parseBody(bodyText);
  const mediaRules = toMediaRules("placeholder", "placeholder");
  const context = { turnId: "captured", tenant: "captured", bodyText, system, mediaRules };
  if (!("messages" in body) && ("input" in body || "instructions" in body)) {
    const request = parseWith(responsesRequest, { model: "gpt-oss", ...body });
    const unsupported = { kinds: "skip", mediaRules } as const;
    const history = plainHistory(request.input);
    const hosted = { toolbox: {}, maxCalls: 1, timeoutMs: 1, citations: "link" } as const;
    return toConversation(request, {
      ...context,
      unsupported,
      hosted,
      history,
      style: "own",
      maxTools: Number.POSITIVE_INFINITY,
    });
  }
  return toChatConversation(parseWith(chatRequest, body), {
    ...context,
    turnId: "captured",
    restored: new Map(),
  });
}

/** Whether a text is a request rather than model output. */
export function isRequest(text: string): boolean {
  if (!text.trimStart().startsWith("{")) return false;
  try {
    const body = parseBody(unwrap(text));
    return "messages" in body || "input" in body;
  } catch {
    return false;
  }
}

const record = z.object({
  request: z.object({ body: z.union([z.string(), z.record(z.string(), z.unknown())]) }),
});

/** Returns the request body in the record of a turn; any other text unchanged. */
function unwrap(text: string): string {
  const found = record.safeParse(parseBody(text));
  if (!found.success) return text;
  const { body } = found.data.request;
  return typeof body === "string" ? body : JSON.stringify(body);
}
