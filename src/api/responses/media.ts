/** The images of a conversation: in messages, and in outputs of tools. */
import { type MediaTexts, partsOf, withTextParts } from "../media/content-media.ts";
import type { RequestMedia } from "../media/request-media.ts";
import type { HistoryItem } from "./history-item.ts";
import { sinceSummary } from "./since-summary.ts";

/** The items with texts in place of their images. Rejects only with the signal's reason. */
export async function withMediaTexts(
  items: readonly HistoryItem[],
  media: RequestMedia | undefined,
  signal: AbortSignal,
): Promise<readonly HistoryItem[]> {
  if (media === undefined) return items;
  const parts = sinceSummary(items).flatMap((item) =>
    "content" in item ? partsOf(item.content) : [],
  );
  const texts = await media.read(parts, signal);
  return texts.size === 0 ? items : items.map((item) => withTexts(item, texts));
}

function withTexts(item: HistoryItem, texts: MediaTexts): HistoryItem {
  if (!("content" in item)) return item;
  return { ...item, content: withTextParts(item.content, texts) };
}
