/** The blocks of a user message as history entries: texts, and results of calls. */
import { summaryText } from "../reply/summary-text.ts";
import type { MediaRules } from "../request/media.ts";
import { kindOf, mediaText, resultText } from "./block-text.ts";
import type { HistoryEntry } from "./history-entry.ts";
import type { Block, ResultBlock } from "./block-schema.ts";

interface UserOptions {
  readonly param: string;
  readonly media: MediaRules;
  readonly skipped: Set<string>;
}

/** Results and texts in the order sent. Adjacent texts become one message. */
export function toUserEntries(
  blocks: readonly Block[],
  { param, media, skipped }: UserOptions,
): HistoryEntry[] {
  const entries: HistoryEntry[] = [];
  let texts: string[] = [];
  const endText = () => {
    const text = texts.join("\n\n");
    if (text !== "") entries.push({ type: "user", text });
    texts = [];
  };
  for (const [index, block] of blocks.entries()) {
    switch (block.type) {
      case "text":
        if (block.text !== "") texts.push(block.text);
        break;
      case "image":
      case "document":
      case "search_result":
        texts.push(mediaText(block, `${param}[${index}]`, media.inMessages));
        break;
      case "compaction":
        if (!block.content) break;
        endText();
        entries.push({ type: "summary", text: summaryText(block.content) });
        break;
      case "tool_result":
        endText();
        entries.push({
          type: "result",
          callId: block.tool_use_id,
          text: toResultText(block, { param: `${param}[${index}]`, media, skipped }),
          param: `${param}[${index}]`,
        });
        entries.push(...toFound(block));
        break;
      default:
        skipped.add(kindOf(block));
    }
  }
  endText();
  return entries;
}

/**
 * Harmony has no error flag. Clients usually describe the error in the text; an error without text gets a
 * description.
 */
function toResultText(
  { content, is_error: isError }: Extract<Block, { type: "tool_result" }>,
  options: UserOptions,
): string {
  const text = typeof content === "string" ? content : joinResult(content ?? [], options);
  return text === "" && isError ? "Error" : text;
}

function toFound({ content }: Extract<Block, { type: "tool_result" }>): HistoryEntry[] {
  if (!Array.isArray(content)) return [];
  const names = content.flatMap((each) => (each.type === "tool_reference" ? [each.tool_name] : []));
  return names.length === 0 ? [] : [{ type: "found", names }];
}

function joinResult(
  blocks: readonly ResultBlock[],
  { param, media, skipped }: UserOptions,
): string {
  const texts: string[] = [];
  for (const [index, block] of blocks.entries()) {
    const text = resultText(block, `${param}.content[${index}]`, media.inResults);
    if (text === undefined) skipped.add(kindOf(block));
    else if (text !== "") texts.push(text);
  }
  return texts.join("\n");
}
