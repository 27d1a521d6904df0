/**
 * Compaction items: a summary of the conversation, encrypted, so that only the gateway can read it, for this
 * tenant.
 */
import * as z from "zod";
import { readStored } from "../../store/entries.ts";
import type { ReasoningCipher } from "../../store/reasoning-cipher.ts";
import { SUMMARY_INSTRUCTIONS, summaryText } from "../reply/summary-text.ts";
import type { HistoryItem } from "./history-item.ts";

/** The prompt for a summary. */
export const SUMMARY_REQUEST: HistoryItem = {
  type: "message",
  role: "user",
  content: SUMMARY_INSTRUCTIONS,
  param: "input",
};

const PURPOSE = "compaction";

const sealedSummary = z.lazy(() => z.object({ summary: z.string() }));

export function sealSummary(
  summary: string,
  tenant: string,
  cipher: ReasoningCipher,
): Promise<string> {
  const payload: z.infer<typeof sealedSummary> = { summary };
  return cipher.seal(JSON.stringify(payload), { tenant, purpose: PURPOSE });
}

/** The text that replaces the summarized items. Undefined unless it was encrypted here for this tenant. */
export async function openSummary(
  sealed: string,
  tenant: string,
  cipher: ReasoningCipher,
): Promise<string | undefined> {
  const opened = await cipher.open(sealed, { tenant, purpose: PURPOSE });
  if (!opened.opened) return undefined;
  const summary = readStored(sealedSummary, opened.text)?.summary;
  return summary === undefined ? undefined : summaryText(summary);
}
