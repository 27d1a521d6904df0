/**
 * Gives calls of trained tools out as calls of the client's. Such calls are held until they are complete: a call that has
 * been given out cannot be taken back, and one that cannot be converted is the model's to repeat.
 */
import type { TrainedCall } from "../mapped-tool.ts";
import type { OfferedTool, Part, TurnEvent } from "../turn.ts";

type CallPart = Extract<Part, { kind: "tool-call" }>;

/**
 * @param find the tool whose calls are converted. Undefined for a part of the client's own tools
 * @param isCut the last call may lack its end, because there were no more tokens: what remains of it is no call
 */
export function toClientCalls(
  events: readonly TurnEvent[],
  find: (name: string) => OfferedTool | undefined,
  isCut: boolean,
): TurnEvent[] {
  const out: TurnEvent[] = [];
  let open: { readonly part: CallPart; readonly tool: OfferedTool; text: string } | undefined;
  for (const event of events) {
    if (event.type === "part-start" && event.part.kind === "tool-call") {
      const tool = find(event.part.name);
      if (tool?.mapped !== undefined) {
        open = { part: event.part, tool, text: "" };
        continue;
      }
    }
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

function toClientCall(
  {
    part,
    tool,
    text,
  }: { readonly part: CallPart; readonly tool: OfferedTool; readonly text: string },
  end: TurnEvent,
  isCut: boolean,
): TurnEvent[] {
  const { mapped } = tool;
  const converted = mapped?.toClient(text);
  if (mapped === undefined || converted === undefined) return [];
  const isMapped = "body" in converted;
  if (!isMapped && isCut) return [];
  const trained: TrainedCall = {
    tool: tool.name,
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
