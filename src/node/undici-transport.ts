/**
 * The {@link Transport} of the Node entry: undici's dispatcher, without `fetch` and web streams.
 *
 * Measured with one token per read: 39 µs of CPU per token against 59 µs through `fetch`, and no
 * growth when the runtime delivers queued HTTP chunks one by one (Node 26).
 */
import { Agent, type Dispatcher } from "undici";

import type { Demand, Consumer } from "../streams/push-stream.ts";
import type { Transport, TransportRequest, TransportResponse } from "../engines/transport.ts";
import { toTimeoutError, toTransportError } from "../engines/transport.ts";

export interface UndiciTransport extends Transport {
  /** Closes idle connections and waits for the others to end. */
  close(): Promise<void>;
  /** Closes all connections. Requests in flight fail. */
  destroy(): Promise<void>;
}

/** When undici stops connecting. The request has failed long before, by our own timeout. */
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
  return Object.assign(transport, {
    close: () => agent.close(),
    destroy: () => agent.destroy(),
  });
}

/** One request and its response. Bytes from undici are delivered synchronously. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #request: TransportRequest;
  readonly #response = Promise.withResolvers<TransportResponse>();
  readonly #onAbort = (): void => this.#giveUp(this.#request.signal.reason);
  #connectTimer: NodeJS.Timeout | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  /** `head` until the response begins; `over` once it has ended, failed or was aborted by us. */
  #stage: "head" | "body" | "over" = "head";
  #failure: { readonly error: unknown } | undefined;
  #unread: Buffer[] = [];
  #unreadBytes = 0;
  #discarding = false;
  /** Receives the body. */
  #consumer: Consumer<Uint8Array> | undefined;
  /** Settles at the end of the body. */
  #pumped: PromiseWithResolvers<void> | undefined;
  /** A flush is scheduled, or waits for room. */
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
    // Aborted while connecting: undici passes the controller only now.
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
      pump: (consumer) => this.#pump(consumer),
      close: (graceMs) => this.#close(graceMs),
    });
  }

  /**
   * Called once per HTTP chunk, so once per token. All chunks of one socket read are delivered together, in a
   * microtask: 0.8 instead of 1.3 µs per token when tokens queue up.
   */
  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#discarding || this.#stage === "over") return;
    this.#unread.push(chunk);
    this.#unreadBytes += chunk.length;
    if (this.#unreadBytes > HIGH_WATER_BYTES) controller.pause();
    if (this.#consumer !== undefined && !this.#flushing) {
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

  #pump(consumer: Consumer<Uint8Array>): Promise<void> {
    this.#consumer = consumer;
    this.#pumped = Promise.withResolvers();
    this.#flushing = true;
    this.#flush();
    return this.#pumped.promise;
  }

  /** Delivers what is buffered: bytes first, then the end or the failure. */
  readonly #flush = (): void => {
    while (this.#unread.length > 0) {
      let demand: Demand;
      try {
        demand = this.#consumer?.(this.#drainUnread()) ?? false;
      } catch (error) {
        return this.#pumped?.reject(error);
      }
      if (demand === false) return this.#pumped?.resolve();
      if (demand !== true) return void this.#flushWhenRoom(demand);
      // Resuming synchronously delivers what undici's parser holds.
      if (this.#controller?.paused === true) this.#controller.resume();
    }
    this.#flushing = false;
    if (this.#failure !== undefined) this.#pumped?.reject(this.#failure.error);
    else if (this.#stage === "over") this.#pumped?.resolve();
  };

  async #flushWhenRoom(demand: Promise<boolean>): Promise<void> {
    try {
      if (!(await demand)) return this.#pumped?.resolve();
    } catch (error) {
      return this.#pumped?.reject(error);
    }
    if (this.#unread.length === 0 && this.#controller?.paused === true) this.#controller.resume();
    this.#flush();
  }

  #drainUnread(): Uint8Array {
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

  /** Aborts the exchange: drops unread bytes and closes the socket immediately. */
  #giveUp(error: unknown): void {
    if (this.#stage === "over") return;
    this.#unread = [];
    this.#finish({ error });
    // Also while the consumer has no room: no more bytes will come.
    this.#pumped?.reject(error);
    this.#controller?.abort(error instanceof Error ? error : new Error("given up"));
  }

  #finish(failure?: { readonly error: unknown }): void {
    clearTimeout(this.#connectTimer);
    this.#request.signal.removeEventListener("abort", this.#onAbort);
    if (this.#stage === "head") this.#response.reject(failure?.error);
    this.#stage = "over";
    this.#failure = failure;
    if (this.#consumer !== undefined && !this.#flushing) this.#flush();
  }

  #toError(error: Error, stage: "head" | "body"): Error {
    const code = "code" in error ? error.code : undefined;
    if (code === "UND_ERR_HEADERS_TIMEOUT") return toTimeoutError("head", this.#request);
    if (code === "UND_ERR_BODY_TIMEOUT") return toTimeoutError("body", this.#request);
    return toTransportError(error, stage, this.#request);
  }
}
