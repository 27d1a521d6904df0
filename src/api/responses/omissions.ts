/** Collects the omitted and unenforced parts of a turn, for response headers, the log and the metrics. */
import type { Capabilities } from "../../engines/engine.ts";
import type { ResponseHeaders } from "../../telemetry/response-headers.ts";
import { findTextFormat } from "../../turn/steering/constraints.ts";
import type { Turn } from "../../turn/turn.ts";
import type { Services } from "../api.ts";
import { noteSkippedTools, toNameList, toPlausibleNames } from "../tools/skipped-tools.ts";
import type { HistoryItem } from "./history-item.ts";

export interface Omissions {
  /** Kinds of tools that were left out, with their namespace if any. */
  readonly tools: readonly string[];
  /** Kinds of input items that were left out. */
  readonly items: readonly string[];
  /** Names of tools whose format no engine of the model can enforce. */
  readonly unenforced: readonly string[];
}

export function toOmissions(
  skippedTools: readonly string[],
  history: readonly HistoryItem[],
  turn: Turn,
  capabilities: Pick<Capabilities, "constraints">,
): Omissions {
  const items = history.flatMap((item) => (item.type === "unsupported" ? [item.kind] : []));
  const unenforced = turn.tools.flatMap(({ name, text }) => {
    const isFree = text === undefined || text.formats.length === 0;
    return isFree || findTextFormat(capabilities, text.formats) ? [] : [name];
  });
  return { tools: unique(skippedTools), items: unique(items), unenforced };
}

/** Logs and counts omissions. */
export function noteOmissions(
  { tools, items, unenforced }: Omissions,
  id: string,
  services: Pick<Services, "log" | "meters">,
): void {
  noteSkippedTools(tools, id, services);
  const { log } = services;
  if (items.length > 0) log.info("items skipped", { id, kinds: toPlausibleNames(items) });
  if (unenforced.length > 0) {
    log.info("formats not enforced", { id, tools: toPlausibleNames(unenforced) });
  }
}

export function omissionHeaders({ tools, items, unenforced }: Omissions): ResponseHeaders {
  return {
    ...(tools.length > 0 && { "x-harmony-skipped-tools": toNameList(tools) }),
    ...(items.length > 0 && { "x-harmony-skipped-items": toNameList(items) }),
    ...(unenforced.length > 0 && { "x-harmony-unenforced-tools": toNameList(unenforced) }),
  };
}

function unique(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}
