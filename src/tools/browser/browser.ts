/**
 * The `browser` tool: search, open and find, in the form of gpt-oss's training.
 *
 * Every displayed page gets the next cursor. In OpenAI's reference, a later page of search results replaces the cursor
 * of an earlier one; here a cursor always names one page.
 */
import { withDeadline } from "../../streams/follow-signal.ts";
import type { Pause } from "../../streams/slices.ts";
import type { Tokenizer } from "../../tokenizer/index.ts";
import type {
  GatewayCall,
  GatewayToolResult,
  GatewayToolRun,
  GatewayTool,
  CitedLines,
  CitedSource,
  FailureReason,
  ShownCall,
} from "../gateway-tool.ts";
import type { BrowserOptions } from "../toolbox.ts";
import {
  type Arguments,
  countBrowserCall,
  describeBrowserCall,
  functionOf,
  readArguments,
  shownAs,
  toTarget,
} from "./call.ts";
import type { SearchBackend } from "./backends.ts";
import type { FetchPage } from "./fetch-page.ts";
import { BROWSER_NAMESPACE } from "../../harmony/trained-tools.ts";
import { BrowserError, findInPage, type Page } from "./page.ts";
import { toSearchPage } from "./search-page.ts";
import { toPage } from "./to-page.ts";
import { isAllowedHost, type UrlPolicy } from "./url-policy.ts";
import { EMPTY_PAGE, type View, type VisitedPage, VisitedPages } from "./visited-pages.ts";

export interface BrowserDeps {
  readonly backend: SearchBackend;
  readonly fetchPage: FetchPage;
  /** The addresses that the operator's settings allow. */
  readonly policy: UrlPolicy;
  readonly tokenizer: Tokenizer;
  readonly searchTimeoutMs: number;
  readonly openTimeoutMs: number;
  /** Pages are converted in slices, one per iteration of the event loop for all turns. */
  readonly pause: Pause;
}

export function createBrowserTool(deps: BrowserDeps, options: BrowserOptions = {}): GatewayTool {
  const { functions } = BROWSER_NAMESPACE;
  const offered = options.maxSearches === 0 ? functions.slice(1) : functions;
  return {
    name: "browser",
    namespace: { ...BROWSER_NAMESPACE, functions: offered },
    rawBody: false,
    accepts: (recipient) => recipient === "browser" || recipient.startsWith("browser."),
    describe: describeBrowserCall,
    countsAs: countBrowserCall,
    open: ({ saved }) => Promise.resolve(new BrowserRun(deps, options, saved)),
  };
}

/** Default number of search results, as stated in the tool's instructions. */
const DEFAULT_RESULTS = 10;
const MAX_RESULTS = 20;
/** Maximum characters of a title. */
const MAX_TITLE = 300;

class BrowserRun implements GatewayToolRun {
  readonly #deps: BrowserDeps;
  readonly #options: BrowserOptions;
  readonly #policy: UrlPolicy;
  readonly #pages: VisitedPages;
  /** Number of calls so far, by function. */
  readonly #uses = { search: 0, open: 0 };

  constructor(deps: BrowserDeps, options: BrowserOptions, saved: string | undefined) {
    this.#deps = deps;
    this.#options = options;
    this.#policy = {
      allow: options.allowedDomains ?? deps.policy.allow,
      within: deps.policy.allow,
      deny: [...deps.policy.deny, ...(options.excludedDomains ?? [])],
    };
    this.#pages = new VisitedPages(saved, {
      load: (url, signal) => this.#load(url, signal),
      tokenizer: deps.tokenizer,
    });
  }

  async run(call: GatewayCall, signal: AbortSignal): Promise<GatewayToolResult> {
    const args = readArguments(call.body);
    const name = functionOf(call.recipient);
    if (args === undefined) return toError(INVALID_ARGUMENTS, shownAs(name, {}), "invalid-input");
    try {
      if (this.#isUsedUp(name)) return toError(NO_MORE, shownAs(name, args), "limit");
      switch (name) {
        case "search":
          return await this.#search(args, signal);
        case "open":
          return await this.#open(args, signal);
        case "find":
          return await this.#find(args, signal);
        default:
          return toError(
            JSON.stringify({ error: `Unknown function: ${name}` }, null, 1).replace(/\n\s*/g, ""),
            shownAs(name, args),
          );
      }
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof BrowserError) return toError(error.message, shownAs(name, args));
      throw error;
    }
  }

  cite(cursor: number, lines?: CitedLines): CitedSource | undefined {
    return this.#pages.cite(cursor, lines);
  }

  save(): string | undefined {
    return this.#pages.save();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Counts a call and returns whether the limit was already reached. */
  #isUsedUp(name: string): boolean {
    const { maxSearches = Infinity, maxOpens = Infinity } = this.#options;
    if (name === "search") return ++this.#uses.search > maxSearches;
    return name === "open" && ++this.#uses.open > maxOpens;
  }

  async #search(args: Arguments, signal: AbortSignal): Promise<GatewayToolResult> {
    const { query, topn } = args;
    if (query === undefined) {
      return toError(INVALID_ARGUMENTS, shownAs("search", args), "invalid-input");
    }
    const most = Math.min(this.#options.maxResults ?? MAX_RESULTS, MAX_RESULTS);
    const count = Math.max(1, Math.min(Math.floor(topn ?? DEFAULT_RESULTS), most));
    const { allow, deny } = this.#policy;
    const { searchTimeoutMs, backend } = this.#deps;
    let found;
    try {
      const { location } = this.#options;
      found = await withDeadline(signal, searchTimeoutMs, (limited) =>
        backend.search(query, { count, allow, deny, location }, limited),
      );
    } catch (error) {
      signal.throwIfAborted();
      throw new BrowserError(`Error during search for \`${query}\`: ${toReason(error)}`);
    }
    const results = found
      .filter(({ url }) => isAllowedHost(URL.parse(url)?.hostname ?? "", this.#policy))
      .map(({ url, title, snippet }) => ({
        url,
        title: title.slice(0, MAX_TITLE),
        snippet: snippet.slice(0, MAX_SNIPPET),
      }));
    const page = toSearchPage(query, results);
    const entry = { page, url: "", title: page.title, search: { query, results } };
    const text = this.#pages.display(entry, { loc: 0, lines: -1 });
    return { text, failed: false, shown: { type: "search", query, results } };
  }

  async #open(args: Arguments, signal: AbortSignal): Promise<GatewayToolResult> {
    const { id = -1, cursor = -1, loc = -1, num_lines: lines = -1 } = args;
    const target = typeof id === "string" ? toTarget(id) : id;
    if (typeof target === "string") return this.#openUrl(target, { loc, lines }, signal);

    const current = await this.#pages.at(cursor, signal);
    if (target < 0) return this.#show(current, { loc: Math.max(loc, 0), lines });
    const page = current.page ?? EMPTY_PAGE;
    const url = page.links[target];
    if (url === undefined) throw new BrowserError(`Invalid link id \`${target}\`.`);
    const line = page.found?.lines[target];
    const start = line === undefined || loc >= 0 ? loc : line > 4 ? line - 4 : line;
    return this.#openUrl(url, { loc: start, lines }, signal);
  }

  async #find(args: Arguments, signal: AbortSignal): Promise<GatewayToolResult> {
    const { pattern, cursor = -1 } = args;
    if (pattern === undefined) {
      return toError(INVALID_ARGUMENTS, shownAs("find", args), "invalid-input");
    }
    const { page = EMPTY_PAGE, url } = await this.#pages.at(cursor, signal);
    if (page.found) {
      throw new BrowserError("Cannot run `find` on search results page or find results page");
    }
    const at = this.#pages.cursorOf(cursor);
    const found = findInPage(page, pattern);
    const entry: VisitedPage = {
      page: found,
      url: found.url,
      title: found.title,
      find: { cursor: at, pattern },
    };
    const text = this.#pages.display(entry, { loc: 0, lines: -1 });
    return { text, failed: false, shown: { type: "find", pattern, ...(url !== "" && { url }) } };
  }

  async #openUrl(url: string, view: View, signal: AbortSignal): Promise<GatewayToolResult> {
    const page = await this.#load(url, signal);
    return this.#show(
      { page, url: page.url, title: page.title },
      { ...view, loc: Math.max(view.loc, 0) },
    );
  }

  #show(entry: VisitedPage, view: View): GatewayToolResult {
    const text = this.#pages.display(entry, view);
    const { url, title } = entry;
    return {
      text,
      failed: false,
      shown: { type: "open", ...(url !== "" && { url, title }) },
    };
  }

  async #load(url: string, signal: AbortSignal): Promise<Page> {
    const known = this.#pages.loaded(url);
    if (known) return known;
    try {
      const { openTimeoutMs, pause } = this.#deps;
      return await withDeadline(signal, openTimeoutMs, async (limited) => {
        const fetched = await this.#deps.fetchPage(url, this.#policy, limited);
        return toPage(fetched, { pause, signal: limited, check() {} });
      });
    } catch (error) {
      signal.throwIfAborted();
      throw new BrowserError(`Error fetching URL \`${url}\`: ${toReason(error)}`);
    }
  }
}

const MAX_SNIPPET = 500;
const NO_MORE = "Error: no more such calls are available. Go on with what you have.";
const INVALID_ARGUMENTS = '{"error": "Invalid function arguments"}';

/** The reason why a search or a page failed, without details for the operator only. */
function toReason(error: unknown): string {
  if (!(error instanceof Error)) return "it failed";
  if (error.name === "TimeoutError" || error.name === "AbortError") return "timeout";
  // Node's error messages about failed connections contain addresses.
  if (error instanceof TypeError) return "the connection failed";
  return error.message.slice(0, 200);
}

function toError(text: string, shown: ShownCall, reason?: FailureReason): GatewayToolResult {
  return { text, shown, failed: true, ...(reason && { reason }) };
}
