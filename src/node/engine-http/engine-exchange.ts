/** The undici handler for one request of a {@link Transport} and its response. */
import type { Demand } from "../../streams/push-stream.ts";
import type {
  BytesConsumer,
  TransportRequest,
  TransportResponse,
} from "../../engines/transport.ts";
import { toConnectTimeoutError, toTransportError } from "../../engines/transport.ts";

/** undici's control of a response that is being received. It has no effect after the end of the response. */
interface ExchangeController {
  readonly paused: boolean;
  pause(): void;
  resume(): void;
  /** Closes the connection. */
  abort(reason: Error): void;
}

/** Bytes kept for a slow reader before the socket is paused. */
const HIGH_WATER_BYTES = 64 * 1024;

/**
 * The chunks of one read are joined here, for all exchanges. With a buffer for each read, the memory outside of V8's heap grew so
 * fast that V8 collected its whole heap every 17 MB.
 */
const JOINED = Buffer.allocUnsafeSlow(2 * HIGH_WATER_BYTES);

type ExchangeTarget = Pick<TransportRequest, "url" | "connectTimeoutMs" | "signal">;

/** Headers by lower-case name. */
type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The handler of one request: turns undici's calls into a {@link TransportResponse}. */
export class EngineExchange {
  // Fields that each read needs come first, on neighbouring lines of the cache.
  /** `head` until the response begins; `over` once it has ended, failed or was aborted. */
  #stage: "head" | "body" | "over" = "head";
  #discarding = false;
  /** A flush is scheduled, or waits for room. */
  #flushing = false;
  /** The consumer of the body. */
  #consumer: BytesConsumer | undefined;
  /** The request without its body, which would be kept as long as the response lasts. */
  readonly #request: ExchangeTarget;
  /** Undefined once the response has begun. */
  #response: PromiseWithResolvers<TransportResponse> | undefined;
  readonly #onAbort = (): void => this.#giveUp(this.#request.signal.reason);
  #connectTimer: NodeJS.Timeout | undefined;
  #headers: ResponseHeaders | undefined;
  #isSuccess = false;
  #controller: ExchangeController | undefined;
  #failure: { readonly error: unknown } | undefined;
  #unread: Uint8Array[] = [];
  #unreadBytes = 0;
  /** Settles at the end of the body. */
  #pumped: PromiseWithResolvers<void> | undefined;

  constructor({ url, connectTimeoutMs, signal }: TransportRequest) {
    this.#request = { url, connectTimeoutMs, signal };
  }

  /** @param dispatch hands the request to undici. */
  start(dispatch: () => void): Promise<TransportResponse> {
    const { signal } = this.#request;
    signal.throwIfAborted();
    const response = Promise.withResolvers<TransportResponse>();
    this.#response = response;
    signal.addEventListener("abort", this.#onAbort, { once: true });
    this.#connectTimer = setTimeout(
      () => this.#giveUp(toConnectTimeoutError(this.#request)),
      this.#request.connectTimeoutMs,
    );
    dispatch();
    return response.promise;
  }

  onRequestStart(controller: ExchangeController): void {
    this.#stopConnectTimer();
    this.#controller = controller;
    // The request was aborted before there was a connection.
    if (this.#stage === "over") controller.abort(new Error("given up"));
  }

  onResponseStart(_controller: ExchangeController, status: number, headers: ResponseHeaders): void {
    if (status < 200 || this.#stage !== "head") return;
    this.#stage = "body";
    this.#headers = headers;
    this.#isSuccess = status < 300;
    this.#response?.resolve(new ExchangeResponse(this, status));
    this.#response = undefined;
  }

  /** A response header; see {@link TransportResponse.headers}. */
  header(name: string): string | null {
    const value = this.#headers?.[name.toLowerCase()];
    return (Array.isArray(value) ? value.join(", ") : value) ?? null;
  }

  onResponseData(controller: ExchangeController, bytes: Uint8Array): void {
    if (this.#discarding || this.#stage === "over") return;
    this.#unread.push(bytes);
    this.#unreadBytes += bytes.length;
    if (this.#unreadBytes > HIGH_WATER_BYTES) controller.pause();
    // undici calls once per HTTP chunk, so once per token. All chunks of one socket read are delivered together, in a
    // microtask: 0.8 instead of 1.3 µs per token when tokens queue up.
    if (this.#consumer !== undefined && !this.#flushing) {
      this.#flushing = true;
      queueMicrotask(this.#flush);
    }
  }

  onResponseEnd(): void {
    this.#finish();
  }

  onResponseError(_controller: ExchangeController | undefined, error: Error): void {
    const stage = this.#stage;
    if (stage !== "over") this.#finish({ error: toTransportError(error, stage, this.#request) });
  }

  /** See {@link TransportResponse.pump}. */
  pump(consumer: BytesConsumer): Promise<void> {
    // The headers help to describe a failure; those of a stream would be kept as long as it is open.
    if (this.#isSuccess) this.#headers = undefined;
    this.#consumer = consumer;
    this.#pumped = Promise.withResolvers();
    this.#flushing = true;
    this.#flush();
    return this.#pumped.promise;
  }

  /** Delivers the buffered data: bytes first, then the end or the failure. */
  readonly #flush = (): void => {
    this.#flushing = true;
    while (this.#unread.length > 0) {
      if (!this.#deliver(this.#drainUnread())) return;
      // Resuming synchronously delivers the data in undici's parser.
      if (this.#controller?.paused === true) this.#controller.resume();
    }
    this.#flushing = false;
    if (this.#failure !== undefined) this.#pumped?.reject(this.#failure.error);
    else if (this.#stage === "over") this.#pumped?.resolve();
  };

  /** Returns whether the consumer has room. If not, bytes are buffered until it has. */
  #deliver(bytes: Uint8Array): boolean {
    let demand: Demand;
    try {
      demand = this.#consumer?.(bytes) ?? false;
    } catch (error) {
      this.#pumped?.reject(error);
      demand = false;
    }
    if (demand === true) return true;
    this.#flushing = true;
    if (demand === false) this.#pumped?.resolve();
    else void this.#flushWhenRoom(demand);
    return false;
  }

  async #flushWhenRoom(demand: Promise<boolean>): Promise<void> {
    try {
      if (!(await demand)) return this.#pumped?.resolve();
    } catch (error) {
      return this.#pumped?.reject(error);
    }
    if (this.#unread.length === 0 && this.#controller?.paused === true) this.#controller.resume();
    this.#flush();
  }

  /** Returns the unread bytes. The next call, of any exchange, may overwrite the result. */
  #drainUnread(): Uint8Array {
    const chunks = this.#unread;
    const size = this.#unreadBytes;
    this.#unread = [];
    this.#unreadBytes = 0;
    const [first] = chunks;
    if (first !== undefined && chunks.length === 1) return first;
    if (size > JOINED.length) return Buffer.concat(chunks);
    let end = 0;
    for (const chunk of chunks) {
      JOINED.set(chunk, end);
      end += chunk.length;
    }
    return JOINED.subarray(0, end);
  }

  /** See {@link TransportResponse.close}. */
  close(graceMs: number | undefined): void {
    if (this.#stage === "over") return;
    if (graceMs === undefined) return this.#giveUp(new Error("response closed"));
    this.#discarding = true;
    this.#unread = [];
    if (this.#controller?.paused === true) this.#controller.resume();
    const timer = setTimeout(() => this.#giveUp(new Error("response closed")), graceMs);
    timer.unref();
  }

  /** Aborts the exchange: drops unread bytes and closes the socket immediately. */
  #giveUp(error: unknown): void {
    if (this.#stage === "over") return;
    const controller = this.#controller;
    this.#unread = [];
    this.#finish({ error });
    // The rejection does not wait for room at the consumer: no more bytes will come.
    this.#pumped?.reject(error);
    controller?.abort(error instanceof Error ? error : new Error("given up"));
  }

  #finish(failure?: { readonly error: unknown }): void {
    this.#stopConnectTimer();
    this.#request.signal.removeEventListener("abort", this.#onAbort);
    if (this.#stage === "head") this.#response?.reject(failure?.error);
    this.#stage = "over";
    this.#failure = failure;
    // The connection may serve another request from now on.
    this.#controller = undefined;
    if (this.#consumer !== undefined && !this.#flushing) this.#flush();
  }

  #stopConnectTimer(): void {
    clearTimeout(this.#connectTimer);
    this.#connectTimer = undefined;
  }
}

class ExchangeResponse implements TransportResponse {
  readonly status: number;
  readonly #exchange: EngineExchange;

  constructor(exchange: EngineExchange, status: number) {
    this.#exchange = exchange;
    this.status = status;
  }

  get headers(): TransportResponse["headers"] {
    return { get: (name) => this.#exchange.header(name) };
  }

  pump(consumer: BytesConsumer): Promise<void> {
    return this.#exchange.pump(consumer);
  }

  close(graceMs?: number): void {
    this.#exchange.close(graceMs);
  }
}
