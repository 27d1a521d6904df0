/**
 * Searches the deferred functions of a request: by words, or by a regular expression. The whole work is bounded: the
 * text of each function, the steps of an expression, which runs on a matcher without backtracking, and the functions
 * that one search finds.
 */
import { fromPlainJson, type Json } from "../../harmony/json.ts";
import { searchPattern } from "../../json-schema/index.ts";
import { yieldToEventLoop } from "../../streams/timers.ts";
import type { GatewayTool, GatewayToolResult, GatewayToolRun } from "../gateway-tool.ts";
import {
  type DeferredFunction,
  type DeferredFunctions,
  foundText,
  SEARCH_RECIPIENT,
  TOOL_SEARCH,
} from "./deferred-functions.ts";
import { WordRanking } from "./ranking.ts";

export interface ToolSearchOptions {
  readonly deferred: DeferredFunctions;
  /**
   * Whether the model writes regular expressions. An expression that is invalid or finds nothing is searched for as
   * words.
   */
  readonly isPattern: boolean;
  /** Maximum functions that one search finds. Absent: {@link USUAL_RESULTS}. */
  readonly maxResults?: number | undefined;
}

/** Anthropic's and OpenRouter's default number of results. */
const USUAL_RESULTS = 5;
const MAX_RESULTS = 20;
const MAX_QUERY = 500;
/** Characters of a function that are searched. */
const MAX_TEXT = 2000;
/** Maximum namespaces in the search's description; below, the characters of their descriptions. */
const MAX_NAMESPACES = 32;
const MAX_DESCRIPTION = 200;
/** Maximum depth of schemas whose parameters are searched. */
const MAX_DEPTH = 3;

export function createToolSearch(options: ToolSearchOptions): GatewayTool {
  const shown = toDefinition(options);
  return {
    name: TOOL_SEARCH,
    functions: [{ name: TOOL_SEARCH, recipient: SEARCH_RECIPIENT, shown }],
    rawBody: false,
    accepts: (recipient) => recipient === SEARCH_RECIPIENT,
    describe: ({ body }) => ({ type: "tools", query: readQuery(body), found: [] }),
    open: () => Promise.resolve(createRun(options)),
  };
}

function createRun(options: ToolSearchOptions): GatewayToolRun {
  const { deferred, isPattern, maxResults = USUAL_RESULTS } = options;
  const { all } = deferred;
  const most = Math.min(maxResults, MAX_RESULTS);
  const texts: string[] = [];
  const words = new WordRanking();

  /** Creates the index at the first search, because most turns have none. */
  async function index(signal: AbortSignal): Promise<void> {
    for (const each of all.slice(texts.length)) {
      if (texts.length % FUNCTIONS_PER_SLICE === FUNCTIONS_PER_SLICE - 1) await yieldToEventLoop();
      signal.throwIfAborted();
      const text = toText(each);
      texts.push(text);
      words.add(text);
    }
  }

  async function search(query: string, signal: AbortSignal): Promise<readonly DeferredFunction[]> {
    const exact = all.findIndex(({ name, recipient }) => query === name || query === recipient);
    if (exact >= 0) return all.slice(exact, exact + 1);
    await index(signal);
    const ranked = words.rank(query);
    const matched = isPattern ? await runPausing(searchPattern(query, texts), signal) : [];
    const ranks = new Map(ranked.map((place, rank) => [place, rank]));
    const rankOf = (place: number) => ranks.get(place) ?? ranked.length;
    const best = matched.length === 0 ? ranked : matched.toSorted((a, b) => rankOf(a) - rankOf(b));
    return best.slice(0, most).flatMap((place) => all[place] ?? []);
  }

  return {
    async run({ body }, signal): Promise<GatewayToolResult> {
      const query = readQuery(body).trim();
      const found = query === "" ? [] : await search(query, signal);
      const shown = { type: "tools", query, found: found.map(({ name }) => name) } as const;
      return { text: foundText(found.map(({ recipient }) => recipient)), shown, failed: false };
    },
    save: () => undefined,
    close: () => Promise.resolve(),
  };
}

const FUNCTIONS_PER_SLICE = 64;

async function runPausing<T>(steps: Generator<void, T>, signal: AbortSignal): Promise<T> {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done) return step.value;
    await yieldToEventLoop();
    signal.throwIfAborted();
  }
}

function toDefinition({ deferred: { all }, isPattern }: ToolSearchOptions) {
  const namespaces = new Map(
    all.flatMap(({ shown: { namespace } }) => (namespace ? [[namespace.name, namespace]] : [])),
  );
  const lines = [...namespaces.values()].slice(0, MAX_NAMESPACES).map(({ name, description }) => {
    const line = description?.replaceAll(/\s+/g, " ").slice(0, MAX_DESCRIPTION);
    return line ? `- ${name}: ${line}` : `- ${name}`;
  });
  const description =
    `Searches ${all.length} further tools, which are not shown here, and makes those that it finds callable. ` +
    "Use it whenever a task needs a tool that you do not have." +
    (lines.length === 0 ? "" : `\nSome of them are in these namespaces:\n${lines.join("\n")}`);
  return { name: TOOL_SEARCH, description, parameters: toParameters(isPattern) };
}

function toParameters(isPattern: boolean): Json {
  const description = isPattern
    ? "A regular expression for names, descriptions and parameters of tools, such as weather|forecast"
    : "What the tool should do, in a few words";
  return fromPlainJson({
    type: "object",
    properties: { query: { type: "string", description } },
    required: ["query"],
  });
}

/** Reads the query from the model's arguments, which may not be JSON, or may use another name. */
function readQuery(body: string): string {
  let value: unknown = body;
  try {
    value = JSON.parse(body);
  } catch {
    // The body is the query itself.
  }
  const text = typeof value === "object" && value !== null ? Object.values(value)[0] : value;
  return typeof text === "string" ? text.slice(0, MAX_QUERY) : "";
}

/** The text of a function. The name counts three times, because it is the most informative. */
function toText({ name, shown }: DeferredFunction): string {
  const { description, parameters, namespace } = shown;
  const parts = [
    name,
    name,
    name,
    namespace?.description?.slice(0, MAX_DESCRIPTION) ?? "",
    description,
  ];
  collectTexts(parameters, MAX_DEPTH, parts);
  return parts.join(" ").slice(0, MAX_TEXT);
}

/** Collects the names and descriptions of parameters. */
function collectTexts(schema: Json | undefined, depth: number, parts: string[]): void {
  if (!(schema instanceof Map) || depth === 0 || parts.length > MAX_TEXT) return;
  const properties = schema.get("properties");
  if (properties instanceof Map) {
    for (const [name, member] of properties) {
      parts.push(name);
      if (parts.length > MAX_TEXT) return;
      const description = member instanceof Map ? member.get("description") : undefined;
      if (typeof description === "string") parts.push(description.slice(0, MAX_DESCRIPTION));
      collectTexts(member, depth - 1, parts);
    }
  }
  collectTexts(schema.get("items"), depth - 1, parts);
}
