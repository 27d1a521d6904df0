/**
 * Converts calls that the gateway runs to Anthropic's blocks: a `server_tool_use` block and the block of its result.
 *
 * `browser.open` and `browser.find` appear as `web_fetch`, whose document is the text the model read, and code as
 * `code_execution`. None of these blocks contains exactly the text that the model read. The complete call is sent
 * encrypted: search results have a field for it, and other results are followed by a thinking block without text whose
 * signature it is.
 */
import { asObject, parseJson } from "../../engines/untyped-json.ts";
import { type TrainedTool, trainedToolOf } from "../../harmony/trained-tools.ts";
import type { CodeShown, ShownCall } from "../../tools/gateway-tool.ts";
import { SEARCH_RECIPIENT } from "../../tools/tool-search/deferred-functions.ts";
import type { Citation } from "../../turn/output/citations.ts";
import type { GatewayCallPart, GatewayCallResult } from "../../turn/turn.ts";

/** Ids of blocks: the prefix that Anthropic requires, and the call's own id. */
export const SERVER_TOOL_ID = /^srvtoolu_call_/;

function toMcpId({ id }: Pick<GatewayCallPart, "id">): string {
  return `mcptoolu_${id}`;
}

function toServerToolId({ id }: Pick<GatewayCallPart, "id">): string {
  return `srvtoolu_${id}`;
}

type ServerToolName = "web_search" | "web_fetch" | "code_execution" | ToolSearchName;

export type ToolSearchName = "tool_search_tool_bm25" | "tool_search_tool_regex";

/** Undefined: calls of this tool are not returned. */
export function serverToolName(
  { name, origin }: GatewayCallPart,
  { toolSearch }: { readonly toolSearch?: ToolSearchName | undefined },
): ServerToolName | "mcp" | undefined {
  if (name === SEARCH_RECIPIENT) return toolSearch;
  if (origin !== undefined) return "mcp";
  if (name === "browser.search") return "web_search";
  const tool = trainedToolOf(name);
  return tool && TOOL_NAMES[tool];
}

const TOOL_NAMES: Readonly<Record<TrainedTool, ServerToolName>> = {
  browser: "web_fetch",
  python: "code_execution",
};

export function toServerToolUse(
  part: GatewayCallPart,
  name: ServerToolName | "mcp",
  input: Readonly<Record<string, string>>,
) {
  if (name === "mcp") {
    const { server = "", tool = "" } = part.origin ?? {};
    return {
      type: "mcp_tool_use" as const,
      id: toMcpId(part),
      name: tool,
      server_name: server,
      input,
    };
  }
  const id = toServerToolId(part);
  return { type: "server_tool_use" as const, id, name, input, caller: { type: "direct" as const } };
}

/** The input of a call. For `web_fetch`, it is known from the result. */
export function toServerToolInput(
  name: ServerToolName | "mcp",
  text: string,
  shown: ShownCall | undefined,
): Readonly<Record<string, unknown>> {
  switch (name) {
    case "mcp":
      return asObject(parseJson(text));
    case "code_execution":
      return { code: text };
    case "tool_search_tool_bm25":
    case "tool_search_tool_regex":
      return { query: shown?.type === "tools" ? shown.query : textMember(text, "query") };
    case "web_search":
      return { query: shown?.type === "search" ? shown.query : textMember(text, "query") };
    case "web_fetch":
      if (shown?.type === "find") return { url: shown.url ?? "", pattern: shown.pattern };
      return { url: (shown?.type === "open" ? shown.url : undefined) ?? textMember(text, "id") };
    default:
      return name satisfies never;
  }
}

export interface ResultBlock {
  readonly block: object;
  /** The block contains the encrypted call. */
  readonly carries: boolean;
}

export function toResultBlock(part: GatewayCallPart, result: GatewayCallResult): ResultBlock {
  const { shown, sealed } = result;
  if (shown.type === "mcp") {
    const seen = result.messages.at(-1)?.content;
    const text = typeof seen === "string" ? seen : "";
    const block = {
      type: "mcp_tool_result",
      tool_use_id: toMcpId(part),
      is_error: result.failed,
      content: [{ type: "text", text }],
    };
    return { block, carries: false };
  }
  if (shown.type === "tools") {
    const references = shown.found.map((name) => ({ type: "tool_reference", tool_name: name }));
    const content = result.failed
      ? { type: "tool_search_tool_result_error", error_code: toCodeError(result.reason) }
      : { type: "tool_search_tool_search_result", tool_references: references };
    const block = { type: "tool_search_tool_result", tool_use_id: toServerToolId(part), content };
    // The names are the whole result that the model has read.
    return { block, carries: true };
  }
  const base = { tool_use_id: toServerToolId(part), caller: { type: "direct" } };
  if (shown.type === "code") {
    const block = { type: "code_execution_tool_result", tool_use_id: base.tool_use_id };
    return { block: { ...block, content: toCodeContent(shown, result) }, carries: false };
  }
  if (part.name === "browser.search") {
    const results = shown.type === "search" ? shown.results : [];
    const content = result.failed
      ? { type: "web_search_tool_result_error", error_code: toSearchError(result) }
      : results.map(({ url, title }, index) => ({
          type: "web_search_result",
          url,
          title,
          encrypted_content: index === 0 ? (sealed ?? "") : "",
          page_age: null,
        }));
    const carries = !result.failed && results.length > 0;
    return { block: { type: "web_search_tool_result", ...base, content }, carries };
  }
  return {
    block: { type: "web_fetch_tool_result", ...base, content: toFetchContent(shown, result) },
    carries: false,
  };
}

function toFetchContent(shown: ShownCall, result: GatewayCallResult) {
  if (result.failed || (shown.type !== "open" && shown.type !== "find")) {
    return { type: "web_fetch_tool_result_error", error_code: toFetchError(result) };
  }
  const seen = result.messages.at(-1)?.content;
  return {
    type: "web_fetch_result",
    url: shown.url ?? "",
    retrieved_at: null,
    content: {
      type: "document",
      source: {
        type: "text",
        media_type: "text/plain",
        data: typeof seen === "string" ? seen : "",
      },
      title: (shown.type === "open" ? shown.title : undefined) ?? null,
      citations: { enabled: false },
    },
  };
}

/** Output and tracebacks are one text. There is no API for files, so a file's id is its data URL. */
function toCodeContent({ outputs, raised }: CodeShown, { failed, reason }: GatewayCallResult) {
  if (failed) {
    return { type: "code_execution_tool_result_error", error_code: toCodeError(reason) };
  }
  const logs = outputs.flatMap((output) => (output.type === "logs" ? [output.logs] : []));
  const files = outputs.flatMap((output) => (output.type === "image" ? [output.url] : []));
  return {
    type: "code_execution_result",
    stdout: logs.join(""),
    stderr: "",
    return_code: raised ? 1 : 0,
    content: files.map((url) => ({ type: "code_execution_output", file_id: url })),
  };
}

function toSearchError({ reason }: GatewayCallResult): string {
  if (reason === "limit") return "max_uses_exceeded";
  return reason === "invalid-input" ? "invalid_tool_input" : "unavailable";
}

function toFetchError({ reason }: GatewayCallResult): string {
  if (reason === "limit") return "max_uses_exceeded";
  if (reason === "invalid-input") return "invalid_tool_input";
  return reason === "timeout" ? "unavailable" : "url_not_accessible";
}

function toCodeError(reason: GatewayCallResult["reason"]): string {
  if (reason === "timeout") return "execution_time_exceeded";
  return reason === "limit" ? "too_many_requests" : "unavailable";
}

/** A citation in a text block. Clients send `encrypted_index` back; the gateway does not read it. */
export function toTextCitation({ url, title, text }: Citation) {
  return {
    type: "web_search_result_location" as const,
    cited_text: text ?? "",
    encrypted_index: "",
    title,
    url,
  };
}

/** Splits a text after each citation, because a block ends there. */
export interface CitedPiece {
  readonly text: string;
  /** The citations since the previous piece. */
  readonly citations: readonly Citation[];
}

/** @param begin position of the text in the part's, to which citations refer. */
export function cutAtCitations(
  text: string,
  citations: readonly Citation[],
  begin: number,
): CitedPiece[] {
  const pieces: CitedPiece[] = [];
  let at = 0;
  for (const citation of citations) {
    const end = Math.max(at, citation.end - begin);
    const last = pieces.at(-1);
    if (last && end === at) {
      pieces[pieces.length - 1] = { text: last.text, citations: [...last.citations, citation] };
    } else pieces.push({ text: text.slice(at, end), citations: [citation] });
    at = end;
  }
  if (at < text.length) pieces.push({ text: text.slice(at), citations: [] });
  return pieces;
}

function textMember(json: string, name: string): string {
  const value = asObject(parseJson(json))[name];
  return typeof value === "string" ? value : "";
}
