/** The {@link Transport} for any runtime with `fetch`: Workers, Deno, Bun, and Node. */
import type { BytesConsumer, Transport, TransportRequest, TransportResponse } from "./transport.ts";
import { toTimeoutError, toTransportError } from "./transport.ts";

/** @param fetchFn for tests and for runtimes with a `fetch` of their own. */
export function createFetchTransport(fetchFn: typeof fetch = fetch): Transport {
  return async (request) => {
    request.signal.throwIfAborted();
    const connection = new Connection(request);
    const { connectMs, firstByteMs } = request.timeouts;
    const response = await connection.open(connectMs + firstByteMs, (signal) =>
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

/** One exchange: its abort signal and its timeouts. */
class Connection {
  readonly #request: TransportRequest;
  readonly #abort = new AbortController();
  readonly #leave = (): void => this.#stop(this.#request.signal.reason);
  /** Why it was stopped. The signal knows too, but reading it is a native call, too slow for each read. */
  #stopped: { readonly reason: unknown } | undefined;

  constructor(request: TransportRequest) {
    this.#request = request;
    request.signal.addEventListener("abort", this.#leave, { once: true });
  }

  /** Waits for the head for at most `ms`. */
  async open(ms: number, start: (signal: AbortSignal) => Promise<Response>): Promise<Response> {
    const timer = setTimeout(() => this.#stop(toTimeoutError("head", this.#request)), ms);
    try {
      return await start(this.#abort.signal);
    } catch (error) {
      throw this.#fail(error, "head");
    } finally {
      clearTimeout(timer);
    }
  }

  toResponse(response: Response): TransportResponse {
    const reader = response.body?.getReader();
    const watch = new SilenceWatch(this.#request.timeouts.idleMs, () =>
      this.#stop(toTimeoutError("body", this.#request)),
    );
    let ended = reader === undefined;
    if (ended) this.#release();
    const end = (): void => {
      ended = true;
      watch.stop();
      this.#release();
    };

    const read = async (): Promise<Uint8Array | undefined> => {
      if (ended || reader === undefined) return undefined;
      try {
        // An aborted fetch fails a pending read, but not every runtime fails the next one.
        if (this.#stopped !== undefined) throw this.#stopped.reason;
        watch.begin();
        const { done, value } = await reader.read();
        watch.pause();
        if (!done) return value;
      } catch (error) {
        watch.stop();
        throw this.#fail(error, "body");
      }
      end();
      return undefined;
    };

    const closeNow = (): void => {
      if (ended) return;
      end();
      this.#stop(new Error("response closed"));
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

  /** The error to report: the reason it was stopped, or the network failure. */
  #fail(error: unknown, stage: "head" | "body"): unknown {
    this.#release();
    if (this.#stopped !== undefined) return this.#stopped.reason;
    return toTransportError(error, stage, this.#request);
  }

  #stop(reason: unknown): void {
    this.#stopped ??= { reason };
    this.#abort.abort(reason);
  }

  #release(): void {
    this.#request.signal.removeEventListener("abort", this.#leave);
  }
}

/**
 * Calls `onSilence` if a read takes longer than `ms`. One timer serves many reads: with one for each, a token on
 * Workers costs 1.6 times a loop that only reads and enqueues, instead of 1.4 times.
 */
class SilenceWatch {
  readonly #ms: number;
  readonly #onSilence: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the read that is in flight began; undefined while there is none. */
  #since: number | undefined;

  constructor(ms: number, onSilence: () => void) {
    this.#ms = ms;
    this.#onSilence = onSilence;
  }

  begin(): void {
    this.#since = Date.now();
    if (this.#timer === undefined) this.#schedule(this.#ms);
  }

  pause(): void {
    this.#since = undefined;
  }

  stop(): void {
    this.#since = undefined;
    clearTimeout(this.#timer);
  }

  #schedule(afterMs: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#since === undefined) return;
      const left = this.#since + this.#ms - Date.now();
      if (left > 0) this.#schedule(left);
      else this.#confirm(this.#since);
    }, afterMs);
  }

  /** An event loop that was blocked runs timers before it reads what has arrived meanwhile. */
  #confirm(since: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#since === since) this.#onSilence();
      else if (this.#since !== undefined) this.#schedule(this.#ms);
    }, 0);
  }
}
