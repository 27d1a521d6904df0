/** Adapters for search services and their JSON formats. Responses are untrusted: each field is read as text only. */
import * as z from "zod";
import type { SearchResult } from "../gateway-tool.ts";
import type { UserLocation } from "../toolbox.ts";
import { MAX_URL } from "./url-policy.ts";
import { lazy } from "../../lazy.ts";
import { readBounded } from "../read-bounded.ts";
import { shortList } from "../short-list.ts";

export interface SearchBackend {
  /** Rejects with an error whose message may be shown to the model. */
  search(query: string, options: SearchOptions, signal: AbortSignal): Promise<SearchResult[]>;
}

export interface SearchOptions {
  /** Maximum number of results. */
  readonly count: number;
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  readonly location?: UserLocation | undefined;
}

export type BackendName = "searxng" | "exa" | "brave" | "tavily" | "you";

export interface SearchBackendOptions {
  /** The service's address. Absent: its public address; SearXNG has none. */
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly fetch: typeof globalThis.fetch;
}

/** Builds a service's request and reads its response. */
interface Service {
  readonly name: string;
  readonly url: string | undefined;
  readonly request: (query: string, options: SearchOptions, key: string) => ServiceRequest;
  readonly read: (body: unknown) => readonly Found[];
}

interface ServiceRequest {
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Found {
  readonly url?: string | null | undefined;
  readonly title?: string | null | undefined;
  readonly snippet?: string | null | undefined;
}

export function createSearchBackend(
  name: BackendName,
  options: SearchBackendOptions,
): SearchBackend {
  const service = SERVICES[name];
  const base = options.url ?? service.url ?? "";
  return {
    async search(query, wanted, signal) {
      const request = service.request(query, wanted, options.key ?? "");
      const url = new URL(base.replace(/\/$/, "") + request.path);
      for (const [key, value] of Object.entries(request.query ?? {})) {
        url.searchParams.set(key, value);
      }
      const response = await options.fetch(url, {
        method: request.body === undefined ? "GET" : "POST",
        headers: {
          accept: "application/json",
          ...request.headers,
          ...(request.body !== undefined && { "content-type": "application/json" }),
        },
        ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
        signal,
      });
      if (!response.ok) {
        await response.body?.cancel();
        throw new Error(
          `${service.name} answered ${response.status}${hint(name, response.status)}`,
        );
      }
      const bytes = await readBounded(response.body, MAX_BYTES);
      if (bytes === undefined) throw new Error(`${service.name} answered with more than 1 MB`);
      const found = service.read(parseJson(new TextDecoder().decode(bytes)));
      return found.flatMap((each) => toResult(each)).slice(0, wanted.count);
    },
  };
}

const MAX_BYTES = 1024 * 1024;
/** Maximum results that are read; below, maximum texts of one result. */
const MAX_RESULTS = 100;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A hint for the most common configuration error: SearXNG serves JSON only if its settings list the format. */
function hint(name: BackendName, status: number): string {
  return name === "searxng" && status === 403
    ? " (its settings must list json under search.formats)"
    : "";
}

function toResult({ url, title, snippet }: Found): SearchResult[] {
  const parsed = URL.parse(url ?? "");
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) return [];
  if (parsed.href.length > MAX_URL) return [];
  return [{ url: parsed.href, title: title ?? "", snippet: withoutTags(snippet ?? "") }];
}

/**
 * Removes tags. It finds the end of each tag once, while a pattern would search again at each bracket without an end.
 */
function withoutTags(snippet: string): string {
  const kept: string[] = [];
  let at = 0;
  for (;;) {
    const start = snippet.indexOf("<", at);
    const end = start < 0 ? -1 : snippet.indexOf(">", start);
    if (end < 0) return kept.join("") + snippet.slice(at);
    kept.push(snippet.slice(at, start));
    at = end + 1;
  }
}

const text = lazy(() => z.string().nullish());
const results = lazy(() =>
  shortList(
    z.object({ url: text(), title: text(), content: text(), description: text(), summary: text() }),
    MAX_RESULTS,
  ),
);

const plain = lazy(() => z.object({ results: results() }));
const brave = lazy(() => z.object({ web: z.object({ results: results() }).nullish() }));
const you = lazy(() => {
  const list = shortList(
    z.object({
      url: text(),
      title: text(),
      description: text(),
      snippets: shortList(z.string(), MAX_RESULTS).nullish(),
    }),
    MAX_RESULTS,
  );
  return z.object({ results: z.object({ web: list.nullish(), news: list.nullish() }) });
});

function readPlain(body: unknown): Found[] {
  const read = plain().safeParse(body);
  if (!read.success)
    throw new Error("the search service answered with something else than results");
  return read.data.results.map(({ url, title, content, summary, description }) => ({
    url,
    title,
    snippet: summary ?? content ?? description,
  }));
}

const SERVICES: Record<BackendName, Service> = {
  searxng: {
    name: "SearXNG",
    url: undefined,
    request: (query, { allow, deny }) => ({
      path: "/search",
      query: { q: withSites(query, allow, deny), format: "json" },
    }),
    read: readPlain,
  },
  exa: {
    name: "Exa",
    url: "https://api.exa.ai",
    request: (query, { count, allow, deny }, key) => ({
      path: "/search",
      headers: { "x-api-key": key },
      body: {
        query,
        numResults: count,
        contents: { summary: true },
        ...(allow.length > 0 && { includeDomains: allow }),
        ...(deny.length > 0 && { excludeDomains: deny }),
      },
    }),
    read: readPlain,
  },
  brave: {
    name: "Brave Search",
    url: "https://api.search.brave.com",
    request: (query, { count, allow, deny, location }, key) => ({
      path: "/res/v1/web/search",
      headers: { "x-subscription-token": key },
      query: {
        q: withSites(query, allow, deny),
        count: String(Math.min(count, 20)),
        ...(location?.country && { country: location.country }),
      },
    }),
    read(body) {
      const read = brave().safeParse(body);
      return (read.data?.web?.results ?? []).map(({ url, title, description }) => ({
        url,
        title,
        snippet: description,
      }));
    },
  },
  tavily: {
    name: "Tavily",
    url: "https://api.tavily.com",
    request: (query, { count, allow, deny }, key) => ({
      path: "/search",
      headers: { authorization: `Bearer ${key}` },
      body: {
        query,
        max_results: Math.min(count, 20),
        ...(allow.length > 0 && { include_domains: allow }),
        ...(deny.length > 0 && { exclude_domains: deny }),
      },
    }),
    read: readPlain,
  },
  you: {
    name: "You.com",
    url: "https://ydc-index.io",
    request: (query, { count, allow, deny }, key) => ({
      path: "/v1/search",
      headers: { "x-api-key": key },
      query: { query: withSites(query, allow, deny), count: String(count) },
    }),
    read(body) {
      const read = you().safeParse(body);
      const { web, news } = read.data?.results ?? {};
      return [...(web ?? []), ...(news ?? [])].map(({ url, title, snippets, description }) => ({
        url,
        title,
        snippet: snippets?.join(" ") ?? description,
      }));
    },
  },
};

/** Adds domains to the query, for services without fields for them. Results are always filtered. */
function withSites(query: string, allow: readonly string[], deny: readonly string[]): string {
  const sites = allow.slice(0, 5).map((domain) => `site:${domain}`);
  const others = deny.slice(0, 5).map((domain) => `-site:${domain}`);
  return [query, sites.join(" OR "), ...others].filter((part) => part !== "").join(" ");
}
