/** Requests documents other than completions from an inference server: its tokenizer, its metrics. */
import { readText } from "../engines/server-response.ts";
import { readServerUrl } from "../engines/server-url.ts";
import { systemClock, withTimeout } from "../engines/clock.ts";
import type { Transport, TransportRequest } from "../engines/transport.ts";
import { parseJson } from "../engines/untyped-json.ts";

export interface ServerQuery {
  /** The body of a successful answer. Undefined: there is no such answer, for any reason. */
  get(path: string, signal: AbortSignal): Promise<string | undefined>;
  /** The JSON of a successful answer to a JSON document. */
  post(path: string, document: object, signal: AbortSignal): Promise<unknown>;
}

export interface ServerQueryOptions {
  readonly url: string;
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly transport: Transport;
}

/** Timeout from the request to the end of the answer. */
const TIMEOUT_MS = 5_000;
/** Maximum bytes of an answer. The metrics of a busy server take some hundred kilobytes. */
const MAX_BYTES = 2 * 1024 * 1024;

export function createServerQuery(options: ServerQueryOptions): ServerQuery {
  const { base, authorization } = readServerUrl(options.url, options.apiKey);
  const headers = {
    "accept-encoding": "identity",
    ...(authorization !== undefined && { authorization }),
    ...options.headers,
  };

  async function ask(
    request: Pick<TransportRequest, "method" | "url" | "headers" | "signal"> & { body?: string },
  ): Promise<string | undefined> {
    try {
      return await withTimeout(
        async (signal) => {
          const connectTimeoutMs = TIMEOUT_MS;
          const response = await options.transport({ ...request, connectTimeoutMs, signal });
          const text = await readText(response, MAX_BYTES);
          return response.status >= 200 && response.status < 300 ? text : undefined;
        },
        { ms: TIMEOUT_MS, clock: systemClock },
        request.signal,
      );
    } catch {
      return undefined;
    }
  }

  return {
    get: (path, signal) => ask({ method: "GET", url: base + path, headers, signal }),
    async post(path, document, signal) {
      const text = await ask({
        method: "POST",
        url: base + path,
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify(document),
        signal,
      });
      return text === undefined ? undefined : parseJson(text);
    },
  };
}
