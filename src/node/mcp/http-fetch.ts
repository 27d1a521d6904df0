/**
 * Sends requests to an MCP server. Responses are limited in size, and redirects are followed only where the credentials
 * may be sent.
 */
import { McpUnavailable } from "../../tools/mcp/connection.ts";
import { weigh } from "../../tools/read-bounded.ts";
import { Allowance } from "./allowance.ts";

/** Maximum bytes of one response. */
const MAX_BYTES = 4_000_000;
/** Maximum lines of one stream of events. A message of progress takes three. */
const MAX_LINES = 4000;
/** How often a broken stream may be continued: at once, and each second. A server says how long to wait, and may say zero. */
const RESUMPTIONS = [10, 1] as const;
const MAX_REDIRECTS = 3;

export type McpFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * `fetch` must not follow redirects itself if `redirect` is `manual`. `timeoutMs` limits a request including all of its
 * response, because the MCP client continues to read responses that nothing waits for any more.
 */
export function limitedFetch(fetch: McpFetch, timeoutMs: number, maxBytes = MAX_BYTES): McpFetch {
  const resumptions = new Allowance(...RESUMPTIONS);
  return async (url, init) => {
    if (init?.method === "GET" && !(isResumption(init) && resumptions.take(1))) return noStream();
    const limit = AbortSignal.timeout(timeoutMs);
    const signal = init?.signal ? AbortSignal.any([limit, init.signal]) : limit;
    const response = await followRedirects(fetch, new URL(url), { ...init, signal });
    return limitBody(response, maxBytes);
  };
}

/** Continues a response that broke off. Other streams are for messages of the server's own, which nothing here needs. */
function isResumption(init: RequestInit): boolean {
  return new Headers(init.headers).has("last-event-id");
}

/** As a server answers that has no such stream. */
function noStream(): Response {
  return new Response(null, { status: 405 });
}

/** Only within the same origin, and with the same method and body, because the headers contain credentials. */
async function followRedirects(
  fetch: McpFetch,
  first: URL,
  init: RequestInit | undefined,
): Promise<Response> {
  let url = first;
  for (let redirects = 0; ; redirects++) {
    const response = await fetch(url, { ...init, redirect: "manual" });
    const location = response.headers.get("location");
    if (response.status < 300 || response.status > 399 || location === null) return response;
    await response.body?.cancel();
    const target = URL.parse(location, url.href);
    const keepsMethod = response.status === 307 || response.status === 308;
    if (!keepsMethod || target?.origin !== first.origin || redirects === MAX_REDIRECTS) {
      throw new McpUnavailable("It redirects to another place. Give its final address.");
    }
    url = target;
  }
}

function limitBody(response: Response, maxBytes: number): Response {
  const { status, statusText, headers } = response;
  if (response.body === null) return response;
  const isStream = headers.get("content-type")?.includes("text/event-stream") === true;
  let bytes = 0;
  let lines = 0;
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += weigh(chunk);
      if (isStream) lines += countLines(chunk);
      if (bytes > maxBytes || lines > MAX_LINES) {
        controller.error(new McpUnavailable("It answered too much."));
      } else controller.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(limit), { status, statusText, headers });
}

/** Lines may end by either character, so a line that ends by both counts twice. */
function countLines(chunk: Uint8Array): number {
  let count = 0;
  for (const byte of chunk) {
    if (byte === 10 || byte === 13) count++;
  }
  return count;
}
