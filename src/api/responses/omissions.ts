/** Collects what was left out of a turn or is not enforced, for response headers, the log and the metrics. */
import type { Capabilities } from "../../engines/engine.ts";
import type { ResponseHeaders } from "../../telemetry/response-headers.ts";
import { findFormat } from "../../turn/constraints.ts";
import type { Turn } from "../../turn/turn.ts";
import type { HistoryItem } from "./history-item.ts";

export interface Omissions {
  /** Tools that were left out: their kinds, with a namespace where they have one. */
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
    return isFree || findFormat(capabilities, text.formats) ? [] : [name];
  });
  return { tools: unique(skippedTools), items: unique(items), unenforced };
}

export function omissionHeaders({ tools, items, unenforced }: Omissions): ResponseHeaders {
  return {
    ...(tools.length > 0 && { "x-harmony-skipped-tools": toList(tools) }),
    ...(items.length > 0 && { "x-harmony-skipped-items": toList(items) }),
    ...(unenforced.length > 0 && { "x-harmony-unenforced-tools": toList(unenforced) }),
  };
}

/** The label of a kind in metrics: kinds that clients make up share one. */
export function toKindLabel(kind: string): string {
  return KINDS.has(kind) ? kind : "other";
}

const KINDS: ReadonlySet<string> = new Set([
  "code_interpreter",
  "computer",
  "computer_use_preview",
  "file_search",
  "image_generation",
  "local_shell",
  "mcp",
  "shell",
  "tool_search",
  "web_search",
  "web_search_preview",
]);

const MAX_NAMES = 32;
const MAX_NAME_LENGTH = 64;

/** Kinds come from the client: only what cannot stand in such a list is replaced. */
function toList(names: readonly string[]): string {
  const shown = names
    .slice(0, MAX_NAMES)
    .map((name) => name.slice(0, MAX_NAME_LENGTH).replaceAll(/[^!-~]|,/g, "_"));
  const others = names.length - shown.length;
  return [...shown, ...(others > 0 ? [`and ${others} more`] : [])].join(", ");
}

function unique(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}
