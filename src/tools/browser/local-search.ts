/**
 * Searches a few documents in memory, without a network: for trying the browser tool, and for tests. The documents have
 * addresses under a domain that is reserved for examples, so that none can be mistaken for a real page.
 */
import { lazy } from "../../lazy.ts";
import { createPause, type SliceOptions } from "../../streams/slices.ts";
import type { SearchResult } from "../gateway-tool.ts";
import type { SearchBackend } from "./backends.ts";
import type { FetchPage } from "./fetch-page.ts";
import { htmlToText } from "./html-to-text.ts";
import { FetchRefused } from "./url-policy.ts";

export interface LocalDocument {
  /** `guide/tools.md` */
  readonly path: string;
  /** Markdown, HTML or plain text. */
  readonly text: string;
}

export interface LocalSearch extends SearchBackend {
  readonly fetchPage: FetchPage;
}

const ORIGIN = "https://files.example/";

export function createLocalSearch(documents: readonly LocalDocument[]): LocalSearch {
  const entries = lazy(() => Promise.all(documents.map((each) => toEntry(each))));

  return {
    async search(query, { count }) {
      const all = await entries();
      const words = [...countWords(query).keys()];
      const weights = new Map(
        words.map((word) => {
          const having = all.filter((entry) => entry.words.has(word)).length;
          return [word, Math.log(1 + all.length / (1 + having))];
        }),
      );
      const ranked = all
        .map((entry) => ({ entry, score: scoreOf(entry, words, weights) }))
        .filter(({ score }) => score > 0)
        .toSorted((a, b) => b.score - a.score);
      return ranked.slice(0, count).map(({ entry }): SearchResult => ({
        url: entry.url,
        title: entry.title,
        snippet: toSnippet(entry.plain, words),
      }));
    },
    async fetchPage(url) {
      const entry = (await entries()).findLast((each) => each.url === url);
      if (entry === undefined) throw new FetchRefused("only the local documents can be opened");
      const contentType = entry.isHtml ? "text/html" : "text/markdown";
      return { url, contentType, body: entry.text };
    },
  };
}

interface Entry {
  readonly url: string;
  readonly title: string;
  readonly text: string;
  /** The text without markup. */
  readonly plain: string;
  readonly isHtml: boolean;
  readonly words: ReadonlyMap<string, number>;
}

/** The documents belong to the operator and are read once, without limits. */
const SLICES: SliceOptions = { pause: createPause(), signal: undefined, check() {} };

async function toEntry({ path, text }: LocalDocument): Promise<Entry> {
  const url = ORIGIN + path.split("/").map(encodeURIComponent).join("/");
  const isHtml = /\.html?$/.test(path);
  const plain = isHtml ? (await htmlToText(text, url, SLICES)).text : text;
  return { url, title: toTitle(path, text), text, plain, isHtml, words: countWords(plain) };
}

function scoreOf(
  { title, words }: Entry,
  query: readonly string[],
  weights: ReadonlyMap<string, number>,
): number {
  const heading = countWords(title);
  let score = 0;
  for (const word of query) {
    const count = words.get(word) ?? 0;
    const weight = weights.get(word) ?? 0;
    // Repetition has diminishing weight: a document that repeats a word a hundred times is not a hundred times more
    // relevant.
    score += weight * (count / (count + 2)) + (heading.has(word) ? weight : 0);
  }
  return score;
}

function countWords(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]{2,}/gu)) {
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return counts;
}

function toTitle(path: string, text: string): string {
  const heading = /^#\s+(.+)$/m.exec(text)?.[1] ?? /<title>([^<]*)<\/title>/i.exec(text)?.[1];
  return (heading ?? path).trim();
}

const SNIPPET_LENGTH = 200;

/** The text around the first word that matches. */
function toSnippet(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase();
  const found = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0);
  const start = Math.max(0, Math.min(...found, text.length) - SNIPPET_LENGTH / 4);
  return text
    .slice(start, start + SNIPPET_LENGTH)
    .replace(/\s+/g, " ")
    .trim();
}
