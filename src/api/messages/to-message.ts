/**
 * Converts a finished turn to a message, as JSON text: the input of a call is written as the model wrote it.
 */
import type { FinishedPart, FinishedTurn } from "../../turn/collect.ts";
import { type ReplyOptions, toStop, toUsage } from "./reply.ts";
import { createToolInput } from "./tool-input.ts";

/** The turn must not have failed. */
export function toMessage({ parts, end }: FinishedTurn, options: ReplyOptions): string {
  const { id, model } = options;
  const head = JSON.stringify({ id, type: "message", role: "assistant", model });
  const tail = JSON.stringify({ ...toStop(end), usage: toUsage(end.usage) });
  const content = toContent(parts, options).join(",");
  return `${head.slice(0, -1)},"content":[${content}],${tail.slice(1)}`;
}

/** The blocks, each as JSON text. */
function toContent(parts: readonly FinishedPart[], { thinking }: ReplyOptions): string[] {
  const blocks: string[] = [];
  let held: string[] = [];
  for (const part of parts) {
    if (part.kind === "content") held = [];
    if (part.kind === "preamble" || part.kind === "tool-call") {
      blocks.push(...held);
      held = [];
    }
    switch (part.kind) {
      case "reasoning": {
        if (thinking === "none") break;
        const block = JSON.stringify({
          type: "thinking",
          thinking: thinking === "text" ? part.text : "",
          signature: part.sealed ?? "",
        });
        (thinking === "before-output" ? held : blocks).push(block);
        break;
      }
      case "preamble":
      case "content":
        blocks.push(JSON.stringify({ type: "text", text: part.text }));
        break;
      case "tool-call": {
        const { id, name } = part;
        const head = JSON.stringify({ type: "tool_use", id, name });
        blocks.push(`${head.slice(0, -1)},"input":${toInput(part.text)}}`);
        break;
      }
      case "builtin-call":
        break;
      default:
        part satisfies never;
    }
  }
  // Thinking after a call is part of the loop.
  return parts.some(({ kind }) => kind === "tool-call") ? [...blocks, ...held] : blocks;
}

function toInput(args: string): string {
  const input = createToolInput();
  const written = input.push(args) + input.end();
  return written === "" ? "{}" : written;
}
