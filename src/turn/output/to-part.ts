/** The parts of a turn for those that the parser finds: with call ids, and with calls that the gateway runs told apart. */
import { type CallHeader, formOf } from "../../harmony/call-form.ts";
import type { ParseEvent } from "../../harmony/parse.ts";
import { isBuiltInTool } from "../../harmony/recipient.ts";
import type { ApprovedCall, Part } from "../turn.ts";
import { type EmittedBuiltins, toBuiltinPart } from "./open-call.ts";

export type PartStart = Extract<ParseEvent, { type: "part-start" }>;

export interface PartOptions {
  readonly newCallId: () => string;
  /**
   * Emit preambles as reasoning. Next to an answer that must be a JSON document, visible text would make the
   * whole invalid.
   */
  readonly foldPreambles: boolean;
  /** Absent: the gateway runs no tools. */
  readonly builtins?: EmittedBuiltins;
}

/** Circumstances in which a part begins. */
export interface PartOrigin {
  /** The call that comes next is one the client has approved. */
  readonly approved: ApprovedCall | undefined;
  /** Whether the model chooses how headers are written, as it does unless the gateway or a constraint writes them. */
  readonly choosesHeaders: boolean;
}

export function toPart(
  event: PartStart,
  { newCallId, foldPreambles, builtins }: PartOptions,
  { approved, choosesHeaders }: PartOrigin,
): Part {
  if (event.part !== "tool-call" && event.part !== "builtin-call") {
    const isFolded = event.part === "preamble" && foldPreambles;
    return { kind: isFolded ? "reasoning" : event.part };
  }
  const { name } = event;
  const id = newCallId();
  const form = choosesHeaders ? { form: formOf(event.header)?.name ?? "other" } : {};
  const recipient = event.part === "builtin-call" ? name : builtins?.recipientOf(name);
  if (recipient === undefined) {
    return { kind: "tool-call", id, name, ...sampledHeader(event), ...form };
  }
  return { ...toBuiltinPart({ id, name: recipient }, builtins, approved), ...form };
}

/** The client's calls of tools of the model's training are put back into the prompt as they were sampled. */
function sampledHeader({ header, ...event }: PartStart): { readonly header?: CallHeader } {
  if (event.part !== "tool-call" || header?.order === undefined) return {};
  const { recipient, ...written } = header;
  return recipient === event.name && isBuiltInTool(event.name) ? { header: written } : {};
}
