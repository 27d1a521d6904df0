/**
 * Selects the tools shown to the model: the client's tools, and Anthropic's server tools that the gateway runs. If no
 * tool is left, the prompt names the tools that cannot run here.
 */
import { fromPlainJson } from "../../harmony/json.ts";
import type { Preset } from "../../turn/preset.ts";
import {
  type OfferedFunction,
  refuseDuplicates,
  toOfferedFunction,
} from "../request/offered-functions.ts";
import {
  type Declaration,
  type HostedDeps,
  type HostedTools,
  isHosted,
  readHostedTools,
  unsupportedTool,
} from "../tools/hosted-tools.ts";
import { withPresetTools } from "../tools/preset-tools.ts";
import { findToolSearch, type ToolSearchRequest, toToolSearch } from "../tools/tool-search.ts";
import { jsonAt, readOrdered } from "../request/ordered-json.ts";
import type { AddedTool } from "./history.ts";
import { type CountRequest, tool as toolSchema } from "./request.ts";
import { MCP_TOOLSET, type ServerTool, toDeclaration } from "./server-tools.ts";

/** Handling of tools that cannot run here: they are skipped, or answered with 400. */
export type ServerTools = "skip" | "refuse";

export interface ToolsOptions {
  readonly bodyText: string;
  readonly tenant: string;
  readonly serverTools: ServerTools;
  /** Tools that the history has called or referenced. */
  readonly references: ReadonlySet<string>;
  /** Tools that messages add. */
  readonly added: readonly AddedTool[];
  /** Names of tools that messages have removed. */
  readonly removed: ReadonlySet<string>;
  /** Maximum tools of a request. Tools that messages add beyond it are not offered. */
  readonly maxTools: number;
  readonly hosted: HostedDeps;
  readonly preset: Preset | undefined;
}

export interface OfferedTools {
  readonly functions: readonly OfferedFunction[];
  /** Functions that are shown once the history has named them. */
  readonly deferred: readonly OfferedFunction[];
  /** The request's tool search over `deferred`. Undefined: it has none. */
  readonly search: ToolSearchRequest | undefined;
  /**
   * The function of each added tool. Undefined if its name is known, because the first definition applies, or if it
   * cannot run here.
   */
  readonly later: readonly (OfferedFunction | undefined)[];
  /** Names of the functions that may be called. */
  readonly callable: readonly string[];
  /** Tools that the gateway runs. */
  readonly hosted: HostedTools;
  /** Kinds of the tools that the gateway runs, by their names in the request. */
  readonly names: ReadonlyMap<string, string>;
  /** Kinds of tools that were skipped. */
  readonly skipped: readonly string[];
  /** Note for the instructions, if all offered tools were skipped. */
  readonly notice: string | undefined;
}

/**
 * A tool loaded on demand (`defer_loading`) is offered once the history names it: as a reference in the result of a
 * tool search, or in a call. If the gateway runs the search, the tool is defined after the search's result; otherwise
 * among the other tools.
 */
export function toOfferedFunctions(
  { tools, tool_choice: choice, container }: CountRequest,
  {
    bodyText,
    tenant,
    serverTools,
    references,
    added,
    removed,
    maxTools,
    hosted,
    preset,
  }: ToolsOptions,
): OfferedTools {
  const schemas = readOrdered(bodyText, "tools", tools, tenant);
  const forced = choice?.type === "tool" ? choice.name : undefined;
  const functions: OfferedFunction[] = [];
  const deferred: OfferedFunction[] = [];
  const unserved: ServerTool[] = [];
  const declared: Declaration[] = [];
  const names = new Map<string, string>();
  const isLoaded = (name: string, isDeferred: unknown) =>
    isDeferred !== true || references.has(name) || name === forced;
  const searches = (tools ?? []).some(
    (tool) => tool.type === "hosted" && /^web_search_\d+$/.test(tool.kind),
  );
  const search = findToolSearch(tools);
  for (const [index, tool] of (tools ?? []).entries()) {
    if (tool.type === "hosted") {
      if (toToolSearch(tool.kind) !== undefined) continue;
      if (tool.kind === MCP_TOOLSET) continue;
      const kind = servedAs(tool.kind, searches);
      if (kind !== undefined && isHosted(kind, hosted)) {
        if (!isLoaded(tool.name, tool.fields["defer_loading"]) || removed.has(tool.name)) continue;
        names.set(tool.name, kind);
        declared.push(toDeclaration(tool, { kind, param: `tools[${index}]`, container }));
        continue;
      }
      if (serverTools === "refuse") throw unsupportedTool(tool.kind, `tools[${index}].type`);
      unserved.push(tool);
    } else if (search !== undefined || isLoaded(tool.name, tool.defer_loading)) {
      const param = `tools[${index}].input_schema`;
      const definition = { ...tool, parameters: tool.input_schema };
      const schema = jsonAt(schemas, [index, "input_schema"]);
      const each = toOfferedFunction(definition, schema, param);
      if (tool.defer_loading !== true) functions.push(each);
      else if (search === undefined) functions.push({ ...each, isLater: true });
      else deferred.push(each);
    }
  }
  refuseDuplicates([...functions, ...deferred]);
  const hasOthers = unserved.length < (tools?.length ?? 0);
  const known = new Set([...functions, ...deferred].map(({ name }) => name));
  const unread: string[] = [];
  const later = added.map((each) => {
    const found = known.size < maxTools ? toLaterFunction(each) : "tool_addition";
    if (typeof found === "string") unread.push(found);
    if (typeof found === "string" || known.has(found.name)) return undefined;
    known.add(found.name);
    return found;
  });
  return {
    functions,
    deferred,
    search,
    later,
    callable: [...known].filter((name) => !removed.has(name)),
    hosted: readHostedTools(withPresetTools(declared, preset), hosted),
    names,
    skipped: [...unserved.map(({ kind }) => kind), ...unread],
    notice: unserved.length > 0 && !hasOthers ? toNotice(unserved) : undefined,
  };
}

/** The added function, or the kind of a tool that cannot be added: invalid, or one of Anthropic's servers. */
function toLaterFunction({ definition, param }: AddedTool): OfferedFunction | string {
  const { data } = toolSchema().safeParse(definition);
  if (data?.type !== "custom") return data?.kind ?? "tool_addition";
  const { input_schema: parameters } = data;
  const schema = parameters ? fromPlainJson(parameters) : undefined;
  return toOfferedFunction({ ...data, parameters }, schema, `${param}.input_schema`);
}

/**
 * The gateway's tool for a dated name. `web_fetch` beside `web_search` is the same tool, since the browser also opens
 * pages. `web_fetch` alone is not supported, because the model was trained with the complete browser.
 */
function servedAs(kind: string, searches: boolean): string | undefined {
  if (/^(?:web_search|code_execution)_\d+$/.test(kind)) return kind.replace(/_\d+$/, "");
  return searches && /^web_fetch_\d+$/.test(kind) ? "web_search" : undefined;
}

/** Without this note the model answers from memory, and clients present the answer as search results. */
function toNotice(tools: readonly { readonly name: string }[]): string {
  const names = tools.map(({ name }) => name).join(", ");
  return (
    `Not available here: ${names}. ` +
    "Where the request needs it, say that you could not use it instead of answering as if you had."
  );
}
