/** Requests to an MCP server: answers are limited in size, and redirects followed only where credentials may go. */
import { McpUnavailable } from "../../tools/mcp/connection.ts";

/** Of one answer. A stream of events has the limit for each connection. */
const MAX_BYTES = 4_000_000;
const MAX_REDIRECTS = 3;

export type McpFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * `fetch` must not follow redirects by itself when `redirect` is `manual`. `timeoutMs`: of a request with all of its answer,
 * since the client goes on reading one that nobody waits for any more. The stream of the server's own messages stays open.
 */
export function limitedFetch(fetch: McpFetch, timeoutMs: number): McpFetch {
  return async (url, init) => {
    const limit = init?.method === "POST" ? [AbortSignal.timeout(timeoutMs)] : [];
    const signal = AbortSignal.any([...limit, ...(init?.signal ? [init.signal] : [])]);
    return limitBody(await followRedirects(fetch, new URL(url), { ...init, signal }));
  };
}

/** Within the origin only, and with the same method and body: the headers hold credentials. */
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

function limitBody(response: Response): Response {
  if (response.body === null) return response;
  let bytes = 0;
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes > MAX_BYTES) controller.error(new McpUnavailable("It answered too much."));
      else controller.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(limit), { status, statusText, headers });
}
