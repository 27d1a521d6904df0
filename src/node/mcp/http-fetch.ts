/**
 * Sends requests to an MCP server. Responses are limited in size, and redirects are followed only where the credentials
 * may be sent.
 */
import { McpUnavailable } from "../../tools/mcp/connection.ts";

/** Maximum bytes of one response. A stream of events has this limit per connection. */
const MAX_BYTES = 4_000_000;
const MAX_REDIRECTS = 3;

export type McpFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * `fetch` must not follow redirects itself if `redirect` is `manual`. `timeoutMs` limits a request including all of its
 * response, because the MCP client continues to read responses that nothing waits for any more. The stream of the
 * server's own messages stays open.
 */
export function limitedFetch(fetch: McpFetch, timeoutMs: number): McpFetch {
  return async (url, init) => {
    const limit = init?.method === "POST" ? [AbortSignal.timeout(timeoutMs)] : [];
    const signal = AbortSignal.any([...limit, ...(init?.signal ? [init.signal] : [])]);
    return limitBody(await followRedirects(fetch, new URL(url), { ...init, signal }));
  };
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
