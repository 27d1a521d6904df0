/** Reports requested tools that were not provided: their names in response headers, the log and the metrics. */
import type { Log } from "../../telemetry/log.ts";
import type { Meters } from "../../telemetry/meters.ts";
import type { Turn } from "../../turn/turn.ts";

/**
 * The unserved plugins of OpenRouter's `plugins`, and of `:online`, which stands for the plugin `web`. `web` is a
 * search; `file-parser` is always served, because the gateway reads files itself; no other plugin is served.
 */
export function skippedPlugins(
  plugins: unknown,
  suffixes: ReadonlySet<string>,
  { toolChoice, gatewayTools }: Pick<Turn, "toolChoice" | "gatewayTools">,
): string[] {
  if (toolChoice.type === "none") return [];
  const ids = Array.isArray(plugins) ? plugins.flatMap((plugin) => enabledId(plugin) ?? []) : [];
  if (suffixes.has("online")) ids.push(WEB);
  const hasSearch = gatewayTools?.tools.some(({ name }) => name === "browser") ?? false;
  const names = ids.map((id) => (id === WEB ? "web_search" : id));
  const served = new Set([FILE_PARSER, ...(hasSearch ? ["web_search", WEB_FETCH] : [])]);
  return [...new Set(names).difference(served)];
}

const WEB = "web";
const FILE_PARSER = "file-parser";
/** Served with the browser, which also opens pages. */
const WEB_FETCH = "openrouter:web_fetch";

function enabledId(plugin: unknown): string | undefined {
  if (typeof plugin !== "object" || plugin === null || !("id" in plugin)) return undefined;
  if ("enabled" in plugin && plugin.enabled === false) return undefined;
  return typeof plugin.id === "string" ? plugin.id : undefined;
}

/** Logs and counts skipped tools. */
export function noteSkippedTools(
  kinds: readonly string[],
  id: string,
  { log, meters }: { readonly log: Log; readonly meters: Meters },
): void {
  if (kinds.length === 0) return;
  log.info("tools skipped", { id, kinds: toPlausibleNames(kinds) });
  for (const kind of kinds) meters.toolsSkipped.add({ kind: toKindLabel(kind) });
}

/** Kinds and names for the log: they are text from the client, so only plausible ones are logged. */
export function toPlausibleNames(names: readonly string[]): readonly string[] {
  return [...new Set(names.map((name) => toPlausibleName(name)))].toSorted().slice(0, MAX_LOGGED);
}

export function toPlausibleName(name: string): string {
  return /^[!-+\--~]{1,64}$/.test(name) ? name : "other";
}

const MAX_LOGGED = 20;

/** The label of a kind in metrics. All unknown kinds share one label. */
function toKindLabel(kind: string): string {
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

/** A list of names for a header. Names come from the client: characters that the list cannot contain are replaced. */
export function toNameList(names: readonly string[]): string {
  const shown = names
    .slice(0, MAX_NAMES)
    .map((name) => name.slice(0, MAX_NAME_LENGTH).replaceAll(/[^!-~]|,/g, "_"));
  const others = names.length - shown.length;
  return [...shown, ...(others > 0 ? [`and ${others} more`] : [])].join(", ");
}
