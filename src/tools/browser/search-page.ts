/** Formats search results as a page. */
import type { SearchResult } from "../gateway-tool.ts";
import { inert } from "./html-to-text.ts";
import { type Page, toPageText } from "./page.ts";
import { wrapLines } from "./wrap-lines.ts";

export function toSearchPage(query: string, results: readonly SearchResult[]): Page {
  const lines = results.map(({ url, title, snippet }, index) => {
    const label = line(title).replaceAll("†", "‡") || url;
    const domain = URL.parse(url)?.host ?? "";
    return `  * 【${index}†${label}†${domain}】 ${line(snippet).slice(0, MAX_SNIPPET)}`.trimEnd();
  });
  const list = lines.length === 0 ? ["No results."] : lines;
  return {
    url: "",
    title: line(query),
    lines: wrapLines(toPageText("", ["# Search Results", "", ...list].join("\n"))),
    links: results.map(({ url }) => url),
  };
}

const MAX_SNIPPET = 2000;

function line(text: string): string {
  return inert(text).replace(/\s+/g, " ").trim();
}
