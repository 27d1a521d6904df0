/** The pages that a browser has displayed, by their cursors. */
import * as z from "zod";
import { lazy } from "../../lazy.ts";
import type { Tokenizer } from "../../tokenizer/index.ts";
import type { CitedLines, CitedSource } from "../gateway-tool.ts";
import { BrowserError, findInPage, type Page, quote, showPage } from "./page.ts";
import { toSearchPage } from "./search-page.ts";
import { sizeOf } from "./to-page.ts";

/**
 * Maximum characters of the pages that a turn holds. The pages opened first are dropped, and loaded again when needed.
 */
const MAX_HELD = 4_000_000;

/** A page under a cursor. For a page from an earlier turn, only the address is known until the page is needed. */
export interface VisitedPage {
  page: Page | undefined;
  readonly url: string;
  readonly title: string;
  /** The query, for search results. */
  readonly search?: Saved["search"];
  /** The page and the pattern, for results of `find`. */
  readonly find?: Saved["find"];
}

export interface View {
  readonly loc: number;
  readonly lines: number;
}

export interface VisitedPagesDeps {
  readonly load: (url: string, signal: AbortSignal) => Promise<Page>;
  readonly tokenizer: Tokenizer;
}

export class VisitedPages {
  readonly #deps: VisitedPagesDeps;
  readonly #pages: VisitedPage[];

  /** @param saved the pages of an earlier turn */
  constructor(saved: string | undefined, deps: VisitedPagesDeps) {
    this.#deps = deps;
    this.#pages = restore(saved);
  }

  /** A loaded page with this address. */
  loaded(url: string): Page | undefined {
    const isIt = (entry: VisitedPage) =>
      entry.page && !entry.find && !entry.search && entry.url === url;
    return this.#pages.find(isIt)?.page;
  }

  cite(cursor: number, lines?: CitedLines): CitedSource | undefined {
    const entry = this.#pages[cursor];
    const of = entry?.find === undefined ? entry : this.#pages[entry.find.cursor];
    if (of === undefined || of.url === "") return undefined;
    const text = lines && entry?.page ? quote(entry.page, lines) : undefined;
    return { url: of.url, title: of.title, ...(text !== undefined && { text }) };
  }

  save(): string | undefined {
    if (this.#pages.length === 0) return undefined;
    const pages = this.#pages.map(({ url, title, search, find }): Saved => ({
      url,
      title,
      ...(search && { search }),
      ...(find && { find }),
    }));
    return JSON.stringify(pages);
  }

  /** Displays a page, which gets the next cursor unless that fails. */
  display(entry: VisitedPage, { loc, lines }: View): string {
    const page = entry.page ?? EMPTY_PAGE;
    const cursor = this.#pages.length;
    const text = showPage(
      page,
      { cursor, loc: Math.floor(loc), lines: Math.floor(lines) },
      this.#deps.tokenizer,
    );
    this.#pages.push(entry);
    this.#letGo();
    return text;
  }

  /** Drops the text of the pages opened first, and keeps their addresses. */
  #letGo(): void {
    const held = new Set<Page>();
    let length = 0;
    for (const entry of this.#pages.toReversed()) {
      if (entry.page === undefined) continue;
      if (!held.has(entry.page)) length += sizeOf(entry.page);
      held.add(entry.page);
      if (length > MAX_HELD && held.size > 1) entry.page = undefined;
    }
  }

  /** Resolves a cursor; -1 is the last page's. */
  cursorOf(cursor: number): number {
    const last = this.#pages.length - 1;
    if (last < 0) throw new BrowserError("No pages to access!");
    if (cursor === -1) return last;
    if (this.#pages[cursor] === undefined) {
      throw new BrowserError(
        `Cursor \`${cursor}\` is out of range. Available cursor indices: [0 - ${last}].`,
      );
    }
    return cursor;
  }

  /** The page under a cursor; -1: the last one. It is loaded again if only its address is known. */
  async at(cursor: number, signal: AbortSignal): Promise<VisitedPage> {
    const entry = this.#pages[this.cursorOf(cursor)];
    if (entry === undefined) throw new BrowserError("No pages to access!");
    entry.page ??= await this.#loadAgain(entry, signal);
    return entry;
  }

  /** Loads a page from an earlier turn. */
  async #loadAgain({ url, search, find }: VisitedPage, signal: AbortSignal): Promise<Page> {
    if (search) return toSearchPage(search.query, search.results);
    if (find === undefined) return this.#deps.load(url, signal);
    const searched = await this.at(find.cursor, signal);
    return findInPage(searched.page ?? EMPTY_PAGE, find.pattern);
  }
}

export const EMPTY_PAGE: Page = { url: "", title: "", lines: [""], links: [] };

const savedPages = lazy(() =>
  z.array(
    z.object({
      url: z.string(),
      title: z.string(),
      search: z
        .object({
          query: z.string(),
          results: z.array(z.object({ url: z.string(), title: z.string(), snippet: z.string() })),
        })
        .optional(),
      find: z.object({ cursor: z.int().min(0), pattern: z.string() }).optional(),
    }),
  ),
);

type Saved = z.output<ReturnType<typeof savedPages>>[number];

/** Pages that cannot be read are left out: the model then receives an error with the existing cursors. */
function restore(saved: string | undefined): VisitedPage[] {
  if (saved === undefined) return [];
  try {
    const read = savedPages().safeParse(JSON.parse(saved));
    return (read.data ?? []).map((entry) => ({ ...entry, page: undefined }));
  } catch {
    return [];
  }
}
