/**
 * A small HTTP/1.1 client for engines behind plain `http:` URLs. undici allocates a buffer for each read and calls back
 * for each chunk. Here all connections share one read buffer, chunks are decoded in place, and the reader is called
 * synchronously, once for each read.
 *
 * It sends requests whose body is in memory, one at a time on each keep-alive connection, and never sends one twice.
 */
import { connect, type Socket } from "node:net";

import type { TransportRequest } from "../engines/transport.ts";
import { type Exchange, type ExchangeController, TIMEOUT_CODES } from "./exchange.ts";
import { ResponseReader } from "./response-reader.ts";

/**
 * Of the one buffer. Where the engine is ahead, tokens cost 0.9 times the CPU with 256 KB instead of 64: there are fewer reads,
 * and fewer writes to the client. The system fills no more of it than has arrived.
 */
const READ_BUFFER_BYTES = 256 * 1024;
const MAX_URLS = 256;
/** Bodies up to this size are copied behind the head. */
const SMALL_BODY_BYTES = 16 * 1024;
/** How much later than its limit a silent server is given up, at most. */
const MAX_STEP_MS = 1000;

export class HttpClient {
  readonly #buffer = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);
  readonly #connections = new Set<Connection>();
  /** Parsed URLs of the engines. There are few, and every request has one of them. */
  readonly #urls = new Map<string, URL>();
  /** The last used at the end. */
  readonly #idle: Connection[] = [];
  #isDestroyed = false;

  /** Sends a request, and calls the exchange as the response arrives. */
  dispatch(request: TransportRequest, exchange: Exchange): void {
    if (this.#isDestroyed) {
      return exchange.onResponseError(undefined, new Error("The client is destroyed"));
    }
    const url = this.#toUrl(request.url);
    const at = this.#idle.findLastIndex((connection) => connection.host === url.host);
    const [idle] = at === -1 ? [] : this.#idle.splice(at, 1);
    if (idle === undefined) {
      const connection = new Connection(this, url, exchange, this.#buffer);
      this.#connections.add(connection);
      return connection.send(request, url, exchange);
    }
    // The server may have closed it: what has arrived is read before the request is sent.
    setImmediate(() => {
      if (!exchange.isOver) {
        if (idle.isOpen) idle.send(request, url, exchange);
        else this.dispatch(request, exchange);
      } else if (idle.isOpen) this.keep(idle);
    });
  }

  #toUrl(text: string): URL {
    const known = this.#urls.get(text);
    if (known !== undefined) return known;
    const url = new URL(text);
    if (this.#urls.size >= MAX_URLS) this.#urls.clear();
    this.#urls.set(text, url);
    return url;
  }

  /** Closes all connections. Requests in flight and new ones fail. */
  destroy(): Promise<void> {
    this.#isDestroyed = true;
    for (const connection of this.#connections)
      connection.abort(new Error("The client is destroyed"));
    return Promise.resolve();
  }

  /** Keeps an open connection for the next request. */
  keep(connection: Connection): void {
    this.#idle.push(connection);
  }

  /** Removes a closed connection. */
  remove(connection: Connection): void {
    this.#connections.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
  }
}

/** A socket, and the request that it is used for. */
class Connection implements ExchangeController {
  // What each read needs comes first, on neighbouring lines of the cache.
  /** Undefined while the connection is idle. */
  #exchange: Exchange | undefined;
  #response = new ResponseReader();
  #hasHead = false;
  /** Nothing has arrived since the timer has fired. */
  #isSilent = true;
  readonly host: string;
  isOpen = true;
  paused = false;
  readonly #client: HttpClient;
  readonly #socket: Socket;
  #idleMs = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Connects for an exchange. {@link send} is called with its request once the connection is established. */
  constructor(client: HttpClient, url: URL, exchange: Exchange, buffer: Buffer) {
    this.host = url.host;
    this.#client = client;
    this.#exchange = exchange;
    exchange.onConnecting(this);
    const onread = {
      buffer,
      callback: (size: number) => {
        this.#receive(buffer, size);
        return true;
      },
    };
    this.#socket = connect({
      host: url.hostname.replace(/^\[|\]$/g, ""),
      port: Number(url.port || 80),
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: 60_000,
      onread,
    })
      .on("end", () => this.#receiveEnd())
      .on("error", (error) => {
        const isReset = "code" in error && error.code === "ECONNRESET";
        if (isReset && this.#endsWithConnection) this.#receiveEnd();
        else this.abort(error);
      })
      .on("timeout", () => this.abort())
      .on("close", () => this.abort());
  }

  /** Sends a request: at once, or when the connection is established. The request is not kept. */
  send(request: TransportRequest, url: URL, exchange: Exchange): void {
    if (this.#socket.connecting) {
      this.#socket.once("connect", () => this.send(request, url, exchange));
      return;
    }
    this.#exchange = exchange;
    this.#response = new ResponseReader();
    this.#hasHead = false;
    this.#idleMs = request.timeouts.idleMs;
    this.#socket.setTimeout(0).ref();
    exchange.onRequestStart(this);
    if (!this.isOpen) return;
    const head = toHead(request, url);
    const { body = "", timeouts } = request;
    if (typeof body === "string") this.#socket.write(head + body);
    else if (body.byteLength <= SMALL_BODY_BYTES) this.#socket.write(joinBytes(head, body));
    else {
      this.#socket.cork();
      this.#socket.write(head);
      this.#socket.write(body);
      this.#socket.uncork();
    }
    this.#startTimer(timeouts.firstByteMs, TIMEOUT_CODES.head);
  }

  pause(): void {
    this.paused = true;
    this.#socket.pause();
  }

  resume(): void {
    this.paused = false;
    // Silence while nothing was read is not the server's.
    this.#isSilent = false;
    this.#socket.resume();
  }

  /** Closes the connection. The request it is used for fails. */
  abort(error = new Error("closed")): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#stopTimer();
    if (this.isOpen) {
      this.isOpen = false;
      this.#socket.destroy();
      this.#client.remove(this);
    }
    exchange?.onResponseError(this, error);
  }

  /** @param buffer overwritten after the call. */
  #receive(buffer: Buffer, size: number): void {
    const exchange = this.#exchange;
    // Bytes that nobody asked for.
    if (exchange === undefined) return this.abort();
    const response = this.#response;
    response.decode(buffer, size);
    if (!this.#hasHead && response.status !== 0) {
      this.#hasHead = true;
      this.#startTimer(this.#idleMs, TIMEOUT_CODES.body);
      exchange.onResponseStart(this, response.status, response.takeHeaders());
    }
    const { bodyFrom, bodyTo } = response;
    if (bodyFrom < bodyTo) {
      this.#isSilent = false;
      exchange.onResponseData(this, buffer, bodyFrom, bodyTo);
    }
    // Aborted by the reader.
    if (this.#exchange !== exchange) return;
    if (response.failure !== undefined) this.abort(response.failure);
    else if (response.hasEnded) this.#finish(exchange, response.keepAliveMs);
  }

  /** The response has begun, and the server closes the connection at its end. */
  get #endsWithConnection(): boolean {
    return this.#exchange !== undefined && this.#hasHead && !this.#response.isPersistent;
  }

  #receiveEnd(): void {
    if (!this.#endsWithConnection) return this.abort(new Error("other side closed"));
    const failure = this.#response.end();
    if (failure !== undefined || this.#exchange === undefined) this.abort(failure);
    else this.#finish(this.#exchange, 0);
  }

  #finish(exchange: Exchange, keepAliveMs: number): void {
    this.#exchange = undefined;
    this.#stopTimer();
    // A server that answers early may not have read all of the request.
    if (keepAliveMs <= 0 || this.#socket.writableLength > 0) this.abort();
    else {
      if (this.paused) this.resume();
      this.#socket.setTimeout(keepAliveMs).unref();
      this.#client.keep(this);
    }
    exchange.onResponseEnd();
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /**
   * Fails the exchange after `ms` of silence, or up to {@link MAX_STEP_MS} later: to restart a timer at each read was a 30th of
   * all instructions of a token, and touched the timers of other connections.
   */
  #startTimer(ms: number, code: string): void {
    clearTimeout(this.#timer);
    const stepMs = Math.min(Math.ceil(ms / 10), MAX_STEP_MS);
    let silentMs = 0;
    this.#isSilent = true;
    const timer = setInterval(() => {
      silentMs = this.#isSilent && !this.paused ? silentMs + stepMs : 0;
      this.#isSilent = true;
      if (silentMs < ms) return;
      // An event loop that was blocked runs timers before it reads what has arrived meanwhile.
      setImmediate(() => {
        if (this.#timer !== timer || !this.#isSilent) return;
        this.abort(Object.assign(new Error("timeout"), { code }));
      });
    }, stepMs);
    this.#timer = timer;
  }
}

/** One buffer instead of two: to gather them costs the system more than the copy. `head` is ASCII. */
function joinBytes(head: string, body: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(head.length + body.byteLength);
  bytes.write(head, 0, "latin1");
  bytes.set(body, head.length);
  return bytes;
}

function toHead({ method, headers, body = "" }: TransportRequest, url: URL): string {
  const length = method === "POST" ? `content-length: ${Buffer.byteLength(body)}\r\n` : "";
  return (
    `${method} ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n` +
    `connection: keep-alive\r\n${toLines(headers)}${length}\r\n`
  );
}

/** The same headers go with every request to a server. */
const lines = new WeakMap<TransportRequest["headers"], string>();

function toLines(headers: TransportRequest["headers"]): string {
  const known = lines.get(headers);
  if (known !== undefined) return known;
  let text = "";
  for (const [name, value] of Object.entries(headers)) text += `${name}: ${value}\r\n`;
  lines.set(headers, text);
  return text;
}
