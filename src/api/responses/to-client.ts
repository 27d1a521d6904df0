/** Filters stored items and responses for a client, and pages lists of items. */
import * as z from "zod";
import type { Client } from "../request/client.ts";
import { refusal } from "../errors.ts";
import { parseWith } from "../request/parse-request.ts";
import type { WireItem } from "./items.ts";
import { KEPT } from "../../store/kept-call.ts";
import type { StoredResource } from "./response-store.ts";

/** Filters a response: it is stored with its reasoning, which not all clients may see. */
export function showResponse(response: StoredResource, client: Client): StoredResource {
  return { ...response, output: response.output.map((item) => showItem(item, client)) };
}

/** Adds the fields that returned items require and clients may omit. */
export function showItem(item: WireItem, { reasoningPolicy }: Client): WireItem {
  const { [KEPT]: _, ...visible } = item;
  const shown: WireItem = WITH_STATUS.has(item.type)
    ? { status: "completed", ...visible, type: item.type }
    : { ...visible, type: item.type };
  if (shown.type === "message") return { ...shown, content: toParts(shown) };
  if (shown.type !== "reasoning" || reasoningPolicy === "raw") return shown;
  const { encrypted_content: sealed, ...rest } = shown;
  const isCarried = reasoningPolicy === "sealed" && sealed !== undefined;
  // The policy may have been different when the item was made.
  const summary = reasoningPolicy === "summary" ? shown["summary"] : [];
  return { ...rest, content: [], summary, ...(isCarried && { encrypted_content: sealed }) };
}

const WITH_STATUS: ReadonlySet<string> = new Set([
  "message",
  "function_call",
  "function_call_output",
  "custom_tool_call",
  "tool_search_call",
]);

/** Converts a string to parts: only requests may have a string as content. */
function toParts({ role, content }: WireItem): unknown {
  if (typeof content !== "string") return content;
  return [
    role === "assistant"
      ? { type: "output_text", text: content, annotations: [], logprobs: [] }
      : { type: "input_text", text: content },
  ];
}

const pageQuery = z.lazy(() =>
  z.object({
    after: z.string().optional(),
    limit: z.coerce.number().int().min(1).max(100).default(20),
    order: z.enum(["asc", "desc"]).default("desc"),
  }),
);

/**
 * One page of a list, the newest first unless the query says otherwise. Throws a {@link RequestError} if the list has no item
 * `after`.
 */
export function toPage(
  items: readonly WireItem[],
  query: Readonly<Record<string, string>>,
  client: Client,
) {
  const { after, limit, order } = parseWith(pageQuery, query);
  const ordered = order === "asc" ? items : items.toReversed();
  const start = after === undefined ? 0 : ordered.findIndex((item) => item["id"] === after) + 1;
  if (after !== undefined && start === 0) {
    throw refusal("after", `the list has no item ${JSON.stringify(after)}`);
  }
  const page = ordered.slice(start, start + limit).map((item) => showItem(item, client));
  return toList(page, start + limit < ordered.length);
}

export function toList(page: readonly WireItem[], hasMore: boolean) {
  return {
    object: "list" as const,
    data: page,
    first_id: page[0]?.["id"] ?? null,
    last_id: page.at(-1)?.["id"] ?? null,
    has_more: hasMore,
  };
}

/**
 * Whether a request is from Codex (0.169.0), by the headers it sends. Codex repeats a turn after any failure with an
 * unknown code, and gives up on an incomplete response.
 */
export function isCodex(header: (name: string) => string | undefined): boolean {
  return /^codex/i.test(header("originator") ?? header("user-agent") ?? "");
}

/** The code of a failure of the model. OpenAI has no code for it; this one is not retried. */
export const FATAL_CODE = "invalid_prompt";
