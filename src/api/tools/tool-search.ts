/**
 * Reads the search for tools under its names in the APIs: OpenAI's `tool_search`, OpenRouter's
 * `openrouter:tool_search`, Anthropic's `tool_search_tool_regex` and `tool_search_tool_bm25` with their dates.
 */
import { toolRecipient, type NamespaceStyle } from "../../harmony/tool-names.ts";
import type { NameShield } from "../../harmony/name-shield.ts";
import {
  type DeferredFunction,
  DeferredFunctions,
  SEARCH_RECIPIENT,
} from "../../tools/tool-search/deferred-functions.ts";
import { createToolSearch } from "../../tools/tool-search/tool.ts";
import type { GatewayTool } from "../../tools/gateway-tool.ts";
import type { ToolChoice } from "../../turn/turn.ts";
import { type OfferedFunction, refuseDuplicates, turnName } from "../request/offered-functions.ts";
import { type HostedTools, toDeclarations, withTools } from "./hosted-tools.ts";

/** A declaration of the tool search. */
export interface ToolSearchRequest {
  /** Whether the model writes regular expressions. */
  readonly isPattern: boolean;
  readonly maxResults?: number;
}

/** Undefined: a tool of this type is not a search. */
export function toToolSearch(type: string, fields: unknown = {}): ToolSearchRequest | undefined {
  const match = SEARCHES.exec(type);
  if (match === null) return undefined;
  const { max_results: most }: { max_results?: unknown } = Object(
    Reflect.get(Object(fields), "parameters"),
  );
  const isCount = typeof most === "number" && Number.isSafeInteger(most) && most > 0;
  return { isPattern: match[1] === "regex", ...(isCount && { maxResults: most }) };
}

/** The first search among a request's tools. Undefined: it declares none. */
export function findToolSearch(
  tools: Parameters<typeof toDeclarations>[0],
): ToolSearchRequest | undefined {
  const searches = toDeclarations(tools).map(({ kind, fields }) => toToolSearch(kind, fields));
  return searches.find((each) => each !== undefined);
}

const SEARCHES = /^(?:openrouter:)?tool_search$|^tool_search_tool_(regex|bm25)(?:_\d+)?$/;

interface Searching {
  /** The tools that the prompt shows. */
  readonly functions: readonly OfferedFunction[];
  readonly deferred: readonly OfferedFunction[];
  /** Undefined: the client runs the search, or there is none. */
  readonly search: ToolSearchRequest | undefined;
  readonly hosted: HostedTools;
  readonly toolChoice: ToolChoice;
}

interface WithToolSearch {
  readonly hosted: HostedTools;
  readonly deferred: DeferredFunctions | undefined;
  readonly toolChoice: ToolChoice;
  /**
   * The recipients of a first call that must be a search: a call is required, and the prompt defines none of the
   * functions.
   */
  readonly forced: readonly string[] | undefined;
}

/** Adds the search to the tools that the gateway runs. Throws a `RequestError` for two functions of one name. */
export function withToolSearch(
  { functions, deferred, search, hosted, toolChoice }: Searching,
  { style, shield }: { readonly style: NamespaceStyle; readonly shield: NameShield },
): WithToolSearch {
  const isNone = toolChoice.type === "none";
  const shown = search === undefined || isNone ? withAllShown(hosted) : hosted;
  const all: DeferredFunction[] = isNone
    ? []
    : [
        ...deferred.map((each) => toDeferredFunction(each, style, shield)),
        ...shown.tools.flatMap(({ functions: own = [] }) =>
          own.filter(({ isDeferred }) => isDeferred),
        ),
      ];
  if (all.length === 0)
    return { hosted: shown, deferred: undefined, toolChoice, forced: undefined };
  const known = new DeferredFunctions(all, style);
  if (search === undefined)
    return { hosted: shown, deferred: known, toolChoice, forced: undefined };
  const tool = createToolSearch({ deferred: known, ...search });
  const searched = withTools(shown, [...shown.tools, tool]);
  refuseDuplicates([...functions, ...searched.functions, ...all.map((each) => each.shown)]);
  const isBlind =
    toolChoice.type === "required" &&
    !functions.some((each) => toolChoice.names.includes(turnName(each)));
  return isBlind && toolChoice.names.length > 1
    ? {
        hosted: searched,
        deferred: known,
        toolChoice: { type: "auto" },
        forced: [SEARCH_RECIPIENT],
      }
    : { hosted: searched, deferred: known, toolChoice, forced: undefined };
}

/** Shows the tools of deferred servers, because there is no search for them. */
function withAllShown(hosted: HostedTools): HostedTools {
  if (!hosted.tools.some(hasDeferred)) return hosted;
  const tools = hosted.tools.map(({ functions, ...tool }): GatewayTool => {
    const all = functions?.map((each) => ({ ...each, isDeferred: false }));
    return { ...tool, ...(all && { functions: all }) };
  });
  return withTools(hosted, tools);
}

function hasDeferred({ functions = [] }: GatewayTool): boolean {
  return functions.some(({ isDeferred }) => isDeferred);
}

function toDeferredFunction(
  each: OfferedFunction,
  style: NamespaceStyle,
  shield: NameShield,
): DeferredFunction {
  const shown = shield.shown(each);
  const recipient = toolRecipient(shown.namespace?.name, shown.name, style);
  return { name: turnName(each), recipient, shown };
}
