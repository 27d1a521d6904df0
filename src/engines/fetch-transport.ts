/** The {@link Transport} for any runtime with `fetch`: Workers, Deno, Bun, and Node. */
import { followSignal } from "../streams/follow-signal.ts";
import type { BytesConsumer, Transport, TransportRequest, TransportResponse } from "./transport.ts";
import { toTransportError } from "./transport.ts";

/**
 * The transport has no timeout for connecting, which `fetch` does not report.
 *
 * @param fetchFn replaces `fetch` in tests and on runtimes with another one.
 *
 * @example
 * ```ts
 * import { createFetchTransport } from "harmony-gateway";
 *
 * const transport = createFetchTransport(async () => new Response("ok"));
 * const signal = AbortSignal.timeout(1000);
 * const response = await transport({ url: "http://127.0.0.1/", method: "GET", headers: {}, signal });
 * response.status; // => 200
 * ```
 */
export function createFetchTransport(fetchFn: typeof fetch = fetch): Transport {
  return async (request) => {
    request.signal.throwIfAborted();
    const connection = new Connection(request);
    const response = await connection.open((signal) =>
      fetchFn(request.url, {
        method: request.method,
        headers: request.headers,
        ...(request.body !== undefined && { body: request.body }),
        // A redirected POST may lose its body or its key: the operator should configure the final URL.
        redirect: "manual",
        signal,
      }),
    );
    return connection.toResponse(response);
  };
}

/** One exchange and its abort signal. */
class Connection {
  readonly #request: TransportRequest;
  readonly #abort = new AbortController();
  readonly #release: () => void;

  constructor(request: TransportRequest) {
    this.#request = request;
    this.#release = followSignal(this.#abort, request.signal);
  }

  async open(start: (signal: AbortSignal) => Promise<Response>): Promise<Response> {
    try {
      return await start(this.#abort.signal);
    } catch (error) {
      throw this.#fail(error, "head");
    }
  }

  toResponse(response: Response): TransportResponse {
    const reader = response.body?.getReader();
    let ended = reader === undefined;
    if (ended) this.#release();
    const end = (): void => {
      ended = true;
      this.#release();
    };

    const read = async (): Promise<Uint8Array | undefined> => {
      if (ended || reader === undefined) return undefined;
      try {
        // An aborted fetch fails a pending read, but not every runtime fails the next one.
        this.#abort.signal.throwIfAborted();
        const { done, value } = await reader.read();
        if (!done) return value;
      } catch (error) {
        throw this.#fail(error, "body");
      }
      end();
      return undefined;
    };

    const closeNow = (): void => {
      if (ended) return;
      end();
      this.#abort.abort(new Error("response closed"));
    };

    const close = (graceMs?: number): void => {
      if (ended) return;
      if (graceMs === undefined) return closeNow();
      const timer = setTimeout(closeNow, graceMs);
      void (async () => {
        try {
          while ((await read()) !== undefined);
        } catch {
          // The rest of the response is not needed.
        } finally {
          clearTimeout(timer);
        }
      })();
    };

    const pump = async (consumer: BytesConsumer): Promise<void> => {
      for (let bytes = await read(); bytes !== undefined; bytes = await read()) {
        const more = consumer(bytes);
        if (!(typeof more === "boolean" ? more : await more)) return;
      }
    };

    return { status: response.status, headers: response.headers, pump, close };
  }

  /** The error to report: the reason of the stop, or the network failure. */
  #fail(error: unknown, stage: "head" | "body"): unknown {
    this.#release();
    if (this.#abort.signal.aborted) return this.#abort.signal.reason;
    return toTransportError(error, stage, this.#request);
  }
}
