/** The images and files of a conversation: in messages, and in outputs of tools. */
import { type MediaTexts, slotsOf, withTextParts } from "../media/content-media.ts";
import type { RequestMedia } from "../media/request-media.ts";
import type { MediaRules } from "../request/media.ts";
import { sinceCompaction } from "./compaction.ts";
import type { HistoryItem } from "./history-item.ts";

/** The items with texts in place of what can be read. Rejects as {@link RequestMedia.read} does. */
export async function withMediaTexts(
  items: readonly HistoryItem[],
  { media, rules }: { readonly media: RequestMedia; readonly rules: MediaRules },
  signal: AbortSignal,
): Promise<readonly HistoryItem[]> {
  const slots = sinceCompaction(items).flatMap((item) => {
    if (item.type === "result")
      return slotsOf(item.content, `${item.param}.output`, rules.inResults);
    if (!("content" in item)) return [];
    return slotsOf(item.content, `${item.param}.content`, rules.inMessages);
  });
  const texts = await media.read(slots, signal);
  return texts.size === 0 ? items : items.map((item) => withTexts(item, texts));
}

function withTexts(item: HistoryItem, texts: MediaTexts): HistoryItem {
  if (!("content" in item)) return item;
  return { ...item, content: withTextParts(item.content, texts) };
}
