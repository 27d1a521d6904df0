/** A page in the model's form: numbered lines in a window, links by number, and the results of `find`. */
import type { Tokenizer } from "../../tokenizer/index.ts";
import type { CitedLines } from "../gateway-tool.ts";
import { wrapLines } from "./wrap-lines.ts";

export interface Page {
  /** The page's address. Empty for search results. */
  readonly url: string;
  readonly title: string;
  /** The lines of the text, from {@link wrapLines}. */
  readonly lines: readonly string[];
  /** Links by the number in `【{id}†…】`. */
  readonly links: readonly string[];
  /** For a page of `find` results: the page that was searched, and the line of each match. */
  readonly found?: {
    readonly title: string;
    readonly url: string;
    readonly lines: readonly number[];
  };
}

/** Page text begins with the page's address, as in training: line 0 is empty, and line 1 is the address. */
export function toPageText(url: string, text: string): string {
  return `\nURL: ${url}\n${text}`;
}

/** An error caused by the model's arguments. The message is for the model. */
export class BrowserError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "BrowserError";
  }
}

export interface Window {
  readonly cursor: number;
  /** The first line to show. */
  readonly loc: number;
  /** Number of lines. 0 or less: as many as fit. */
  readonly lines: number;
}

/** Tokens in a window if the model does not request a number of lines. */
const WINDOW_TOKENS = 1024;
/** Maximum characters of such a window before it is encoded: ordinary text has about four per token. */
const WINDOW_CHARACTERS = 32_768;
const MAX_LINES = 500;
const MAX_URL_LENGTH = 1024;

/** Throws a {@link BrowserError} for a line that does not exist. */
export function showPage(page: Page, { cursor, loc, lines }: Window, tokenizer: Tokenizer): string {
  const all = page.lines;
  const last = all.length - 1;
  if (loc > last) {
    throw new BrowserError(
      `Invalid location parameter: \`${loc}\`. Cannot exceed page maximum of ${last}.`,
    );
  }
  const count = lines > 0 ? Math.min(lines, MAX_LINES) : linesThatFit(all, loc, tokenizer);
  const end = Math.min(loc + count, all.length);
  const body = numbered(all.slice(loc, end), loc);
  const url = shownUrl(page.url);
  const heading = `[${cursor}] ${page.title}${url === "" ? "" : ` (${url})`}`;
  return `${heading}\n**viewing lines [${loc} - ${end - 1}] of ${last}**\n\n${body}`;
}

/** The text of these lines, joined into one line. Its length is limited to that of a usual quotation. */
export function quote(page: Page, { first, last }: CitedLines): string {
  const lines = page.lines.slice(first, Math.min(last + 1, first + MAX_QUOTED_LINES));
  return stripLinks(lines.join("\n")).replace(/\s+/g, " ").trim().slice(0, MAX_QUOTE);
}

const MAX_QUOTE = 150;
const MAX_QUOTED_LINES = 10;

function linesThatFit(lines: readonly string[], loc: number, tokenizer: Tokenizer): number {
  const text = numbered(lines.slice(loc, loc + WINDOW_TOKENS), loc).slice(0, WINDOW_CHARACTERS);
  const ids = tokenizer.encode(text);
  const isCut = ids.length > WINDOW_TOKENS;
  const shown = isCut ? tokenizer.decode(ids.slice(0, WINDOW_TOKENS)) : text;
  return shown.split("\n").length;
}

function numbered(lines: readonly string[], from: number): string {
  return lines.map((line, index) => `L${from + index}: ${line}`).join("\n");
}

/** The address was chosen by the page's author: line breaks must not reach the heading. */
function shownUrl(url: string): string {
  const text = decodePercents(url).replace(/[\r\n]/g, " ");
  return text.length > MAX_URL_LENGTH ? `${text.slice(0, MAX_URL_LENGTH - 3)}...` : text;
}

function decodePercents(url: string): string {
  try {
    return decodeURIComponent(url);
  } catch {
    return url;
  }
}

const MAX_MATCHES = 50;
const MATCH_LINES = 4;

/** Shows the matches as a separate page. */
export function findInPage(page: Page, searched: string): Page {
  const pattern = searched.toLowerCase();
  const lines = stripLinks(page.lines.join("\n")).split("\n");
  const matches: number[] = [];
  for (let at = 0; at < lines.length && matches.length < MAX_MATCHES; at++) {
    if (!lines[at]?.toLowerCase().includes(pattern)) continue;
    matches.push(at);
    at += MATCH_LINES - 1;
  }
  const chunks = matches.map((line, index) => {
    const shown = lines.slice(line, line + MATCH_LINES).join("\n");
    return `# 【${index}†match at L${line}】\n${shown}`;
  });
  return {
    url: `${page.url}/find?pattern=${encodeURIComponent(pattern.toWellFormed())}`,
    title: `Find results for text: \`${pattern}\` in \`${page.title}\``,
    lines: wrapLines(chunks.join("\n\n") || `No \`find\` results for pattern: \`${pattern}\``),
    links: matches.map(() => page.url),
    found: { title: page.title, url: page.url, lines: matches },
  };
}

/** Replaces links by their text, also a link that is cut off at the end. */
export function stripLinks(text: string): string {
  return text
    .replace(/^[^\u3010\u3011]*\u3011/, "")
    .replace(
      /\u3010\d*(?:\u2020([^\u2020\u3011]*)(?:\u2020[^\u2020\u3011]*)?)?$/,
      (_, content: string | undefined) => content ?? "",
    )
    .replace(/\u3010\d+\u2020([^\u2020\u3011]+)(?:\u2020[^\u2020\u3011]+)?\u3011/g, "$1");
}
