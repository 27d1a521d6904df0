/**
 * The {@link Transport} of the Node entry: undici's dispatcher without `fetch` and web streams around it.
 *
 * Measured with one token per read: 39 µs of CPU per token against 59 µs through `fetch`, and no
 * growth when the runtime hands queued HTTP chunks over one by one (Node 26).
 */
import { Agent, type Dispatcher } from "undici";

import type { Demand, Consumer } from "../streams/push-stream.ts";
import type { Transport, TransportRequest, TransportResponse } from "../engines/transport.ts";
import { toTimeoutError, toTransportError } from "../engines/transport.ts";

export interface UndiciTransport extends Transport {
  /** Closes idle connections and waits for the others to end. */
  close(): Promise<void>;
}

/** When undici gives up connecting for a request that has long been answered with our own timeout. */
const MAX_CONNECT_MS = 60_000;

/** Bytes kept for a slow reader before the socket is paused. */
const HIGH_WATER_BYTES = 64 * 1024;

export function createUndiciTransport(): UndiciTransport {
  // A stream holds its connection until it ends, and abandoning it must close the socket, so one
  // request per connection. HTTP/2 would share one and is not what inference servers speak.
  const agent = new Agent({
    pipelining: 1,
    allowH2: false,
    connect: { timeout: MAX_CONNECT_MS },
  });
  const transport = async (request: TransportRequest): Promise<TransportResponse> =>
    new Exchange(request).start(agent);
  return Object.assign(transport, { close: () => agent.close() });
}

/** One request and its response. Bytes that undici brings are handed on in the same breath. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #request: TransportRequest;
  readonly #response = Promise.withResolvers<TransportResponse>();
  readonly #onAbort = (): void => this.#giveUp(this.#request.signal.reason);
  #connectTimer: NodeJS.Timeout | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  /** `head` until the response begins; `over` after its end, its failure, or our leaving. */
  #stage: "head" | "body" | "over" = "head";
  #failure: { readonly error: unknown } | undefined;
  #unread: Buffer[] = [];
  #unreadBytes = 0;
  #discarding = false;
  /** Whoever takes the body, and what tells them of its end. */
  #take: Consumer<Uint8Array> | undefined;
  #pumped: PromiseWithResolvers<void> | undefined;
  /** A flush is about to come, or waits for room. */
  #flushing = false;

  constructor(request: TransportRequest) {
    this.#request = request;
  }

  start(agent: Agent): Promise<TransportResponse> {
    const { method, url, headers, body, timeouts, signal } = this.#request;
    signal.throwIfAborted();
    signal.addEventListener("abort", this.#onAbort, { once: true });
    this.#connectTimer = setTimeout(
      () => this.#giveUp(toTimeoutError("connection", this.#request)),
      timeouts.connectMs,
    );
    const { origin, pathname, search } = new URL(url);
    agent.dispatch(
      {
        origin,
        path: pathname + search,
        method,
        headers: { ...headers },
        ...(body !== undefined && { body }),
        headersTimeout: timeouts.firstByteMs,
        bodyTimeout: timeouts.idleMs,
      },
      this,
    );
    return this.#response.promise;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    clearTimeout(this.#connectTimer);
    this.#controller = controller;
    // Given up while the connection was being made: undici hands out the controller only now.
    if (this.#stage === "over") controller.abort(new Error("given up"));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status < 200 || this.#stage !== "head") return;
    this.#stage = "body";
    this.#response.resolve({
      status,
      headers: {
        get: (name) => {
          const value = headers[name.toLowerCase()];
          return (Array.isArray(value) ? value.join(", ") : value) ?? null;
        },
      },
      pump: (take) => this.#pump(take),
      close: (graceMs) => this.#close(graceMs),
    });
  }

  /**
   * Called once for each HTTP chunk, that is for each token. Everything one read of the socket brought
   * is handed over together, in a microtask: 0.8 instead of 1.3 µs per token when tokens queue up.
   */
  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#discarding || this.#stage === "over") return;
    this.#unread.push(chunk);
    this.#unreadBytes += chunk.length;
    if (this.#unreadBytes > HIGH_WATER_BYTES) controller.pause();
    if (this.#take !== undefined && !this.#flushing) {
      this.#flushing = true;
      queueMicrotask(this.#flush);
    }
  }

  onResponseEnd(): void {
    this.#finish();
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    const stage = this.#stage;
    if (stage !== "over") this.#finish({ error: this.#toError(error, stage) });
  }

  #pump(take: Consumer<Uint8Array>): Promise<void> {
    this.#take = take;
    this.#pumped = Promise.withResolvers();
    this.#flushing = true;
    this.#flush();
    return this.#pumped.promise;
  }

  /** Hands on what there is. Bytes go before the end, and before a failure. */
  readonly #flush = (): void => {
    while (this.#unread.length > 0) {
      let more: Demand;
      try {
        more = this.#take?.(this.#takeUnread()) ?? false;
      } catch (error) {
        return this.#pumped?.reject(error);
      }
      if (more === false) return this.#pumped?.resolve();
      if (more !== true) return void this.#flushWhenRoom(more);
      // Resuming delivers what the parser holds, here and now.
      if (this.#controller?.paused === true) this.#controller.resume();
    }
    this.#flushing = false;
    if (this.#failure !== undefined) this.#pumped?.reject(this.#failure.error);
    else if (this.#stage === "over") this.#pumped?.resolve();
  };

  async #flushWhenRoom(more: Promise<boolean>): Promise<void> {
    try {
      if (!(await more)) return this.#pumped?.resolve();
    } catch (error) {
      return this.#pumped?.reject(error);
    }
    if (this.#unread.length === 0 && this.#controller?.paused === true) this.#controller.resume();
    this.#flush();
  }

  #takeUnread(): Uint8Array {
    const chunks = this.#unread;
    this.#unread = [];
    this.#unreadBytes = 0;
    const [first] = chunks;
    return first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks);
  }

  #close(graceMs: number | undefined): void {
    if (this.#stage === "over") return;
    if (graceMs === undefined) return this.#giveUp(new Error("response closed"));
    this.#discarding = true;
    this.#unread = [];
    this.#controller?.resume();
    const timer = setTimeout(() => this.#giveUp(new Error("response closed")), graceMs);
    timer.unref();
  }

  /** Our own decision to end it: unread bytes are worth nothing, the socket is closed at once. */
  #giveUp(error: unknown): void {
    if (this.#stage === "over") return;
    this.#unread = [];
    this.#finish({ error });
    // Also where somebody has no room yet: nothing more comes.
    this.#pumped?.reject(error);
    this.#controller?.abort(error instanceof Error ? error : new Error("given up"));
  }

  #finish(failure?: { readonly error: unknown }): void {
    clearTimeout(this.#connectTimer);
    this.#request.signal.removeEventListener("abort", this.#onAbort);
    if (this.#stage === "head") this.#response.reject(failure?.error);
    this.#stage = "over";
    this.#failure = failure;
    if (this.#take !== undefined && !this.#flushing) this.#flush();
  }

  #toError(error: Error, stage: "head" | "body"): Error {
    const code = "code" in error ? error.code : undefined;
    if (code === "UND_ERR_HEADERS_TIMEOUT") return toTimeoutError("head", this.#request);
    if (code === "UND_ERR_BODY_TIMEOUT") return toTimeoutError("body", this.#request);
    return toTransportError(error, stage, this.#request);
  }
}
