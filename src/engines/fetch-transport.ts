/** The {@link Transport} for any runtime with `fetch`: Workers, Deno, Bun, and Node when need be. */
import type { Take } from "../flow.ts";
import type { Transport, TransportRequest, TransportResponse } from "./transport.ts";
import { toTimeoutError, toTransportError } from "./transport.ts";

/** `fetchFn` is for tests and for runtimes that bring a `fetch` of their own. */
export function createFetchTransport(fetchFn: typeof fetch = fetch): Transport {
  return async (request) => {
    request.signal.throwIfAborted();
    const connection = new Connection(request);
    const { connectMs, firstByteMs } = request.timeouts;
    const response = await connection.wait(connectMs + firstByteMs, "head", (signal) =>
      fetchFn(request.url, {
        method: request.method,
        headers: request.headers,
        ...(request.body !== undefined && { body: request.body }),
        // A redirected POST loses its body or its key: the operator should name the final URL.
        redirect: "manual",
        signal,
      }),
    );
    return connection.toResponse(response);
  };
}

/** One exchange: what aborts it, and what it is waiting for. */
class Connection {
  readonly #request: TransportRequest;
  readonly #abort = new AbortController();
  readonly #leave = (): void => this.#abort.abort(this.#request.signal.reason);

  constructor(request: TransportRequest) {
    this.#request = request;
    request.signal.addEventListener("abort", this.#leave, { once: true });
  }

  /** Runs `start` for at most `ms`; whatever stops it, the connection is closed and the error is ours. */
  async wait<T>(
    ms: number,
    stage: "head" | "body",
    start: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { signal } = this.#abort;
    const timer = setTimeout(() => this.#abort.abort(toTimeoutError(stage, this.#request)), ms);
    try {
      return await start(signal);
    } catch (error) {
      const reason: unknown = signal.aborted
        ? signal.reason
        : toTransportError(error, stage, this.#request);
      this.#release();
      throw reason;
    } finally {
      clearTimeout(timer);
    }
  }

  toResponse(response: Response): TransportResponse {
    const reader = response.body?.getReader();
    let ended = reader === undefined;
    if (ended) this.#release();

    const read = async (): Promise<Uint8Array | undefined> => {
      if (ended || reader === undefined) return undefined;
      const { done, value } = await this.wait(this.#request.timeouts.idleMs, "body", () =>
        // An aborted fetch fails a pending read, but not every runtime fails the next one.
        this.#abort.signal.aborted ? Promise.reject(this.#abort.signal.reason) : reader.read(),
      );
      if (!done) return value;
      ended = true;
      this.#release();
      return undefined;
    };

    const closeNow = (): void => {
      if (ended) return;
      ended = true;
      this.#release();
      this.#abort.abort();
    };

    const close = (graceMs?: number): void => {
      if (ended) return;
      if (graceMs === undefined) return closeNow();
      const timer = setTimeout(closeNow, graceMs);
      void (async () => {
        try {
          while ((await read()) !== undefined);
        } catch {
          // Nobody wants the rest any more.
        } finally {
          clearTimeout(timer);
        }
      })();
    };

    const pump = async (take: Take<Uint8Array>): Promise<void> => {
      for (let bytes = await read(); bytes !== undefined; bytes = await read()) {
        const more = take(bytes);
        if (!(typeof more === "boolean" ? more : await more)) return;
      }
    };

    return { status: response.status, headers: response.headers, pump, close };
  }

  #release(): void {
    this.#request.signal.removeEventListener("abort", this.#leave);
  }
}
