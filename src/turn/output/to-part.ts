/** Converts the parser's parts to parts of a turn: adds call ids and marks gateway calls. */
import { formOf } from "../../harmony/call-form.ts";
import type { PartStart } from "../../harmony/parts.ts";
import { withForm } from "../call-id.ts";
import type { ApprovedCall, Part } from "../turn.ts";
import { type EmittedGatewayTools, toGatewayPart } from "./open-call.ts";

export interface PartOptions {
  readonly newCallId: () => string;
  /**
   * Whether preambles are emitted as reasoning. Next to an answer that must be a JSON document, visible text would make
   * the whole invalid.
   */
  readonly foldPreambles: boolean;
  /** Absent: the gateway runs no tools. */
  readonly gatewayTools?: EmittedGatewayTools;
}

/** Circumstances in which a part begins. */
export interface PartOrigin {
  /** The approved call, if the next call is one that the client has approved. */
  readonly approved: ApprovedCall | undefined;
  /** Whether the model chooses the form of headers. False while the gateway or a constraint writes them. */
  readonly choosesHeaders: boolean;
}

export function toPart(
  event: PartStart,
  { newCallId, foldPreambles, gatewayTools }: PartOptions,
  { approved, choosesHeaders }: PartOrigin,
): Part {
  if (event.part !== "tool-call" && event.part !== "builtin-call") {
    const isFolded = event.part === "preamble" && foldPreambles;
    return { kind: isFolded ? "reasoning" : event.part };
  }
  const { name } = event;
  const id = newCallId();
  const form = choosesHeaders ? { form: formOf(event.header)?.name ?? "other" } : {};
  const recipient = event.part === "builtin-call" ? name : gatewayTools?.recipientOf(name);
  if (recipient === undefined) {
    return { kind: "tool-call", id: withForm(id, event.header), name, ...form };
  }
  return { ...toGatewayPart({ id, name: recipient }, gatewayTools, approved), ...form };
}
