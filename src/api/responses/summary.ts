/** Compaction items: a summary of what came before, sealed, so that it is ours and this tenant's to read. */
import { z } from "zod";
import type { Seals } from "../../store/seals.ts";

const PURPOSE = "compaction";

const sealedSummary = z.object({ summary: z.string() });

export function sealSummary(summary: string, tenant: string, seals: Seals): Promise<string> {
  const payload: z.infer<typeof sealedSummary> = { summary };
  return seals.seal(JSON.stringify(payload), { tenant, purpose: PURPOSE });
}

/** Undefined for what was not sealed here, or for somebody else. */
export async function openSummary(
  sealed: string,
  tenant: string,
  seals: Seals,
): Promise<string | undefined> {
  const opened = await seals.open(sealed, { tenant, purpose: PURPOSE });
  if (!opened.opened) return undefined;
  return sealedSummary.safeParse(JSON.parse(opened.text)).data?.summary;
}
