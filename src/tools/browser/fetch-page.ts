/**
 * Fetches pages for the model. Size, time and redirects are limited, and each redirect is checked like the first
 * address.
 */
import { yieldToEventLoop } from "../../streams/timers.ts";
import { readBounded } from "../read-bounded.ts";
import { checkUrl, FetchRefused, type UrlPolicy } from "./url-policy.ts";

/** A page in the server's form. */
export interface FetchedPage {
  /** The address after redirects. */
  readonly url: string;
  readonly contentType: string;
  readonly body: string;
}

/** Fetches a page. Rejects with an error whose message may be shown to the model. */
export type FetchPage = (
  url: string,
  policy: UrlPolicy,
  signal: AbortSignal,
) => Promise<FetchedPage>;

/** One request without redirects, cookies or credentials. */
export type RequestPage = (url: URL, signal: AbortSignal) => Promise<PageResponse>;

export interface PageResponse {
  readonly status: number;
  readonly header: (name: string) => string | null;
  readonly body: AsyncIterable<Uint8Array> | null;
  /** Closes the connection. */
  readonly cancel: () => void;
}

export const PAGE_HEADERS = {
  accept: "text/html,application/xhtml+xml,text/plain;q=0.9,application/json;q=0.8,*/*;q=0.1",
  "accept-language": "en,*;q=0.5",
  "user-agent": "harmony-gateway (browser tool)",
} as const;

const MAX_REDIRECTS = 5;
const MAX_BYTES = 5 * 1024 * 1024;

/** Maximum characters read of a page. */
export const MAX_PAGE_LENGTH = 1_000_000;

/** Bytes decoded between two pauses. */
const STEP = 262_144;

export function createPageFetch(request: RequestPage): FetchPage {
  return (url, policy, signal) => fetchChecked(request, { url, policy, signal }, readPage);
}

/** Follows redirects, and checks each address before it is requested. Rejects with an error whose message may be shown to the model. */
export async function fetchChecked<T>(
  request: RequestPage,
  {
    url: text,
    policy,
    signal,
  }: { readonly url: string; readonly policy: UrlPolicy; readonly signal: AbortSignal },
  read: (response: PageResponse, url: URL) => Promise<T>,
): Promise<T> {
  let url = checkUrl(text, policy);
  for (let redirects = 0; ; redirects++) {
    const response = await request(url, signal);
    try {
      const target = toRedirect(response, url);
      if (target === undefined) return await read(response, url);
      if (redirects === MAX_REDIRECTS) throw new FetchRefused("it redirects too often");
      url = checkUrl(target, policy);
    } finally {
      response.cancel();
    }
  }
}

function toRedirect({ status, header }: PageResponse, from: URL): string | undefined {
  if (![301, 302, 303, 307, 308].includes(status)) return undefined;
  const location = header("location");
  const target = location === null ? null : URL.parse(location, from.href);
  if (target === null) throw new FetchRefused("it redirects to nowhere");
  return target.href;
}

async function readPage(response: PageResponse, url: URL): Promise<FetchedPage> {
  const { status, header, body } = response;
  if (status < 200 || status > 299) throw new FetchRefused(`the server answered ${status}`);
  const contentType = header("content-type") ?? "text/html";
  if (!isReadable(contentType)) {
    const kind = contentType.split(";")[0] ?? "";
    throw new FetchRefused(`it is ${kind.slice(0, 80)}, which cannot be read as text`);
  }
  const bytes = await readBounded(body, MAX_BYTES);
  if (bytes === undefined) throw new FetchRefused("it is larger than 5 MB");
  return { url: url.href, contentType, body: await decode(bytes, contentType) };
}

/** Whether the content is readable: text, JSON and XML are, PDF, for instance, is not. */
function isReadable(contentType: string): boolean {
  const type = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  return /^text\/(?:html|plain|markdown|xml|csv|css|javascript)$|^application\/(?:[\w.-]+\+)?(?:json|xml)$|^application\/(?:xhtml\+xml|javascript)$/.test(
    type,
  );
}

/** The encoding from the header, else from the page's own declaration, else UTF-8. */
async function decode(bytes: Uint8Array, contentType: string): Promise<string> {
  const named =
    /charset="?([\w-]+)/i.exec(contentType)?.[1] ??
    /<meta[^>]{0,200}charset=["']?([\w-]+)/i.exec(
      new TextDecoder("latin1").decode(bytes.subarray(0, 1024)),
    )?.[1];
  const decoder = createDecoder(named);
  let text = "";
  for (let at = 0; at < bytes.length && text.length < MAX_PAGE_LENGTH; at += STEP) {
    // The loop yields because some encodings take 200 ms for 5 MB of their worst bytes.
    if (at > 0) await yieldToEventLoop();
    text += decoder.decode(bytes.subarray(at, at + STEP), { stream: true });
  }
  return (text + decoder.decode()).slice(0, MAX_PAGE_LENGTH);
}

function createDecoder(encoding: string | undefined) {
  try {
    return new TextDecoder(encoding ?? "utf-8");
  } catch {
    return new TextDecoder();
  }
}

/**
 * Uses the runtime's own `fetch`, which does not reveal the address of the connection: for runtimes that cannot reach a
 * local network.
 */
export const requestByFetch: RequestPage = async (url, signal) => {
  const response = await fetch(url, { redirect: "manual", headers: PAGE_HEADERS, signal });
  return {
    status: response.status,
    header: (name) => response.headers.get(name),
    body: response.body,
    cancel: () => void response.body?.cancel().catch(() => undefined),
  };
};
