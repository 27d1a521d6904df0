/**
 * Converts a finished turn to a message, as JSON text: the input of a call is written as the model wrote it.
 */
import type { FinishedPart, FinishedTurn } from "../../turn/collect.ts";
import { compactionBlock } from "./content-blocks.ts";
import {
  CALLER,
  type ReplyOptions,
  toContainer,
  toIterations,
  toMessageUsage,
  toStop,
} from "./reply.ts";
import {
  cutAtCitations,
  serverToolName,
  toResultBlock,
  toServerToolInput,
  toServerToolUse,
  toTextCitation,
} from "./server-tool-blocks.ts";
import { ToolInput } from "./tool-input.ts";

/** The turn must not have failed. */
export function toMessage({ parts, end }: FinishedTurn, options: ReplyOptions): string {
  const { id, model } = options;
  const head = JSON.stringify({ id, type: "message", role: "assistant", model });
  const results = parts.flatMap((part) =>
    part.kind === "builtin-call" && part.result && !part.result.failed ? [part.result.shown] : [],
  );
  const container = toContainer(
    results.findLast(({ type }) => type === "code"),
    options,
  );
  const tail = JSON.stringify({
    ...toStop(end, options),
    usage: { ...toMessageUsage(end.usage), ...toIterations(end, options) },
    container,
    ...(options.contextManagement && { context_management: options.contextManagement }),
    diagnostics: null,
  });
  const { made } = options.compaction ?? {};
  const compaction = made && JSON.stringify(compactionBlock(made.text ?? null));
  const content = [...(compaction ? [compaction] : []), ...toContent(parts, options)].join(",");
  return `${head.slice(0, -1)},"content":[${content}],${tail.slice(1)}`;
}

/** The blocks, each as JSON text. */
function toContent(parts: readonly FinishedPart[], { thinking }: ReplyOptions): string[] {
  const blocks: string[] = [];
  let held: string[] = [];
  for (const part of parts) {
    if (part.kind === "content") held = [];
    if (part.kind !== "reasoning") {
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
        blocks.push(...toTextBlocks(part));
        break;
      case "tool-call": {
        const { id, name } = part;
        const head = JSON.stringify({ type: "tool_use", id, name, caller: CALLER });
        blocks.push(`${head.slice(0, -1)},"input":${toInput(part.text)}}`);
        break;
      }
      case "builtin-call":
        blocks.push(...toServerToolBlocks(part, thinking));
        break;
      default:
        part satisfies never;
    }
  }
  // Thinking after a call is part of the loop.
  return parts.some(({ kind }) => kind === "tool-call") ? [...blocks, ...held] : blocks;
}

/** Splits the text after each citation. A block has none rather than a null, which `@ai-sdk/anthropic` 2 and 3 refuse. */
function toTextBlocks({ text, citations = [] }: FinishedPart): string[] {
  const blocks: { text: string; citations?: readonly object[] }[] = [];
  for (const piece of cutAtCitations(text, citations, 0)) {
    const last = blocks.at(-1);
    const cited = piece.citations.map((each) => toTextCitation(each));
    // Citations before any text belong to the text after them.
    if (last?.text === "") {
      blocks.pop();
      blocks.push({ text: piece.text, citations: [...(last.citations ?? []), ...cited] });
    } else blocks.push({ text: piece.text, ...(cited.length > 0 && { citations: cited }) });
  }
  if (blocks.length === 0) blocks.push({ text: "" });
  return blocks.map((each) => JSON.stringify({ type: "text", ...each }));
}

function toServerToolBlocks(
  part: Extract<FinishedPart, { kind: "builtin-call" }>,
  thinking: ReplyOptions["thinking"],
): string[] {
  const { result, text } = part;
  const name = serverToolName(part);
  if (name === undefined || (name === "web_fetch" && result === undefined)) return [];
  const input = toServerToolInput(name, text, result?.shown);
  const blocks: object[] = [toServerToolUse(part, name, input)];
  if (result) {
    const { block, carries } = toResultBlock(part, result);
    blocks.push(block);
    if (!carries && thinking !== "none" && result.sealed) {
      blocks.push({ type: "thinking", thinking: "", signature: result.sealed });
    }
  }
  return blocks.map((each) => JSON.stringify(each));
}

function toInput(args: string): string {
  const input = new ToolInput();
  const written = input.push(args) + input.end();
  return written === "" ? "{}" : written;
}
