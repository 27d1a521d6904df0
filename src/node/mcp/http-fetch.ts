/**
 * Sends requests to an MCP server. Responses are limited in size, and redirects are followed only to targets that may receive the
 * credentials.
 */
import { McpUnavailable } from "../../tools/mcp/connection.ts";
import { weigh } from "../../tools/read-bounded.ts";
import { Allowance } from "./allowance.ts";

/** Maximum bytes of one response. */
const MAX_BYTES = 4_000_000;
/** Maximum lines of one stream of events. A progress message takes three. */
const MAX_LINES = 4000;
/** Limits of resuming a broken stream: at once, and each second. The server sets the delay, and may set zero. */
const RESUMPTIONS = [10, 1] as const;
const MAX_REDIRECTS = 3;

export type McpFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * Wraps a `fetch` that must not follow redirects if `redirect` is `manual`. `timeoutMs` limits a request including its whole
 * response, because the MCP client continues to read responses that are no longer needed.
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

/** Whether a request resumes a broken response. Other streams carry the server's own messages, which the gateway does not use. */
function isResumption(init: RequestInit): boolean {
  return new Headers(init.headers).has("last-event-id");
}

/** The answer of a server without such a stream. */
function noStream(): Response {
  return new Response(null, { status: 405 });
}

/** Follows redirects only within the same origin, and with the same method and body, because the headers contain credentials. */
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

/** Counts line ends. Either character may end a line, so a line that ends with both counts twice. */
function countLines(chunk: Uint8Array): number {
  let count = 0;
  for (const byte of chunk) {
    if (byte === 10 || byte === 13) count++;
  }
  return count;
}
