/** An output item while the model writes it, and its wire formats. */
import { parseJson, hasMembers } from "../../engines/untyped-json.ts";
import type { Citation } from "../../turn/output/citations.ts";
import type { GatewayCallResult, Part, ToolCallPart } from "../../turn/turn.ts";
import { JsonText } from "../../json-text.ts";
import { toSearchArguments } from "./plain-history.ts";
import { type GatewayIncludes, type GatewayItemStatus, toGatewayItem } from "./gateway-item.ts";
import { KEPT, toKeptCall } from "../../store/kept-call.ts";
import type { CallTarget } from "./tools.ts";
import type { ItemStatus, OutputItem, OutputText, UrlCitation } from "./to-response.ts";

/** An item that is being written. */
export interface OpenItem {
  readonly part: Part;
  readonly id: string;
  /** The item's index in the output. */
  readonly index: number;
  /** The tool of a call. Undefined for other items. */
  readonly target: CallTarget | undefined;
  text: string;
  /** Reader of the input, for a call of a tool with text input. */
  readonly input: CustomInput | undefined;
  /** Log probabilities of a message: JSON text of the list, without brackets. */
  logprobs: string;
  /** Annotations of an answer. */
  readonly annotations: UrlCitation[];
  /** The result of a call that the gateway runs. */
  result: GatewayCallResult | undefined;
  /** Whether the part has ended. The item is complete unless the turn was truncated here. */
  isOver: boolean;
  /** Encrypted reasoning, known once the item is done. */
  sealed: string | undefined;
  /** A summary of the reasoning, known once the item is done. */
  summary: string | undefined;
}

/** `empty`: before any content. `hidden`: complete, without its reasoning. */
export type ItemForm = "empty" | "hidden" | "full";

export function createOpenItem(
  part: Part,
  id: string,
  index: number,
  target?: CallTarget,
): OpenItem {
  return {
    part,
    id,
    index,
    target,
    input: target?.kind === "custom" && !target.isCode ? new CustomInput() : undefined,
    text: "",
    logprobs: "",
    annotations: [],
    result: undefined,
    isOver: false,
    sealed: undefined,
    summary: undefined,
  };
}

export function isMessage({ kind }: Part): boolean {
  return kind === "preamble" || kind === "content";
}

/** `includes`: optional parts of calls that the gateway runs. */
export function toItem(
  item: OpenItem,
  status: ItemStatus,
  form: ItemForm,
  includes: GatewayIncludes,
): OutputItem {
  const { part, id, text } = item;
  switch (part.kind) {
    case "reasoning":
      return {
        id,
        type: "reasoning",
        status,
        summary: item.summary === undefined ? [] : [{ type: "summary_text", text: item.summary }],
        content: form === "full" ? [{ type: "reasoning_text", text }] : [],
        ...(item.sealed !== undefined && { encrypted_content: item.sealed }),
      };
    case "preamble":
    case "content":
      return {
        id,
        type: "message",
        status,
        role: "assistant",
        phase: part.kind === "preamble" ? "commentary" : "final_answer",
        content: form === "empty" ? [] : [toOutputText(item)],
      };
    case "tool-call":
      return toCallItem(item, part, status);
    case "builtin-call":
      return {
        ...toGatewayItem({ part, id, text, result: item.result }, toStatus(item, status), includes),
        ...(item.sealed !== undefined && { encrypted_content: item.sealed }),
      };
    default:
      return part satisfies never;
  }
}

function toCallItem(
  { id, target, text }: OpenItem,
  part: ToolCallPart,
  status: ItemStatus,
): OutputItem {
  const { kind, ...name } = target ?? { kind: "function", name: part.name };
  const call = { id, status, call_id: part.id };
  switch (kind) {
    case "function":
      return { ...call, type: "function_call", ...name, arguments: text };
    case "custom":
      return { ...call, type: "custom_tool_call", ...name, input: text };
    case "tool-search":
      return {
        ...call,
        type: "tool_search_call",
        execution: "client",
        arguments: toSearchArguments(text),
      };
    default:
      return kind satisfies never;
  }
}

/** The item for the store, including the members that a later request needs. */
export function toStoredItem(
  item: OpenItem,
  status: ItemStatus,
  includes: GatewayIncludes,
): OutputItem {
  const full = toItem(item, status, "full", includes);
  const { part, result } = item;
  if (part.kind !== "builtin-call" || result === undefined) return full;
  return {
    ...toGatewayItem({ ...item, part, result }, toStatus(item, status), includes),
    [KEPT]: toKeptCall(result),
  };
}

/** The item's status. A call that was written but not run is incomplete. */
function toStatus({ result }: OpenItem, status: ItemStatus): GatewayItemStatus {
  if (status === "in_progress") return status;
  if (result === undefined) return "incomplete";
  return result.failed ? "failed" : "completed";
}

export function toUrlCitation({ start, end, url, title }: Citation): UrlCitation {
  return { type: "url_citation", start_index: start, end_index: end, url, title };
}

export function toOutputText({ text, logprobs, annotations }: OpenItem): OutputText {
  const written: OutputText["logprobs"] = logprobs === "" ? [] : new JsonText(`[${logprobs}]`);
  return { type: "output_text", text, annotations: [...annotations], logprobs: written };
}

/**
 * Reads the body of a call of a tool that takes one text. Models write the text plainly, or as JSON: a string, or an
 * object with the text as its only member.
 */
class CustomInput {
  #held = "";
  #form: "unknown" | "plain" | "json" = "unknown";

  /** Adds to the body. Returns the next part of the input, as far as it is certain. */
  push(body: string): string {
    if (this.#form === "plain") return body;
    this.#held += body;
    if (this.#form === "unknown") this.#form = formOf(body);
    return this.#form === "plain" ? this.#drain() : "";
  }

  /** The rest of the input. */
  end(): string {
    return readBody(this.#drain());
  }

  #drain(): string {
    const text = this.#held;
    this.#held = "";
    return text;
  }
}

/** The form of a body, by its first character. */
function formOf(body: string): "unknown" | "plain" | "json" {
  const [first] = body.trimStart();
  if (first === undefined) return "unknown";
  return first === "{" || first === '"' ? "json" : "plain";
}

/** The text in a whole body. */
function readBody(body: string): string {
  if (formOf(body) !== "json") return body;
  const value = parseJson(body);
  if (typeof value === "string") return value;
  const members: unknown[] = hasMembers(value) ? Object.values(value) : [];
  const [only] = members;
  return members.length === 1 && typeof only === "string" ? only : body;
}
