/**
 * Emits calls of trained tools as calls of the client's tools. Such calls are held until they are complete: an emitted
 * call cannot be withdrawn, and the model must repeat a call that cannot be converted.
 */
import type { ToolMapping, TrainedCall } from "../mapped-tool.ts";
import type { OfferedTool, ToolCallPart, TurnEvent } from "../turn.ts";

/** A call that has not ended. */
interface HeldCall {
  readonly part: ToolCallPart;
  /** The trained tool. */
  readonly tool: string;
  readonly mapped: ToolMapping;
  text: string;
}

/**
 * @param find the tool whose calls are converted. Undefined for calls of the client's own tools
 * @param isCut the last call may be incomplete, because there were no more tokens: it is not emitted as a call
 */
export function toClientCalls(
  events: readonly TurnEvent[],
  find: (name: string) => OfferedTool | undefined,
  isCut: boolean,
): TurnEvent[] {
  const out: TurnEvent[] = [];
  let open: HeldCall | undefined;
  for (const event of events) {
    open ??= toHeldCall(event, find);
    if (open === undefined) {
      out.push(event);
    } else if (event.type === "part-delta") {
      open.text += event.text;
    } else if (event.type === "part-end") {
      out.push(...toClientCall(open, event, isCut));
      open = undefined;
    }
  }
  return out;
}

function toHeldCall(
  event: TurnEvent,
  find: (name: string) => OfferedTool | undefined,
): HeldCall | undefined {
  if (event.type !== "part-start" || event.part.kind !== "tool-call") return undefined;
  const { name, mapped } = find(event.part.name) ?? {};
  return name === undefined || mapped === undefined
    ? undefined
    : { part: event.part, tool: name, mapped, text: "" };
}

function toClientCall(
  { part, tool, mapped, text }: HeldCall,
  end: TurnEvent,
  isCut: boolean,
): TurnEvent[] {
  const converted = mapped.toClient(text);
  const isMapped = "body" in converted;
  if (!isMapped && isCut) return [];
  const trained: TrainedCall = {
    tool,
    outcome: isMapped ? "mapped" : "unmapped",
    profile: mapped.profile,
    notes: isMapped ? converted.notes : [converted.problem],
  };
  const name = isMapped ? mapped.name : part.name;
  return [
    { type: "part-start", part: { ...part, name, trained } },
    { type: "part-delta", text: isMapped ? converted.body : text },
    end,
  ];
}
