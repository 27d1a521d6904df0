/**
 * A client of the load generator: one connection, one streamed answer after the other.
 *
 * It writes to the socket directly with as little work as possible: the load generator shares two cores with the
 * process it measures.
 */
import { connect, type Socket } from "node:net";

import type { ClientRequest, Wire } from "./requests.ts";
import { nowMs } from "./words.ts";

export interface Target {
  /** Name of the contender, for failures. */
  readonly name: string;
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
}

export interface StreamEvents {
  /** The words of visible text in one read, if any. */
  readonly onWords: (words: readonly string[], receivedMs: number, stream: Stream) => void;
  /** The answer is complete. */
  readonly onEnd: (stream: Stream) => void;
  readonly onFailure: (reason: string) => void;
}

/**
 * The members that contain text, in all wire formats. Reasoning is repeated in `reasoning_details` as `text`, which is
 * not read.
 */
const TEXTS: Record<Wire, RegExp> = {
  engine: /"text":"((?:[^"\\]|\\.)*)"/g,
  chat: /"(?:content|reasoning|arguments)":"((?:[^"\\]|\\.)*)"/g,
  responses: /"delta":"((?:[^"\\]|\\.)*)"/g,
  messages: /"(?:text|thinking|partial_json)":"((?:[^"\\]|\\.)*)"/g,
};

export interface StreamOptions {
  readonly target: Target;
  readonly wire: Wire;
  /** Its path is used for all requests. */
  readonly request: ClientRequest;
  /** False: only the end of an answer is detected. */
  readonly readsWords: boolean;
  /** For a slow reader, which parses neither words nor the end. */
  readonly bytesPerSecond?: number;
}

/** Bytes a slow reader reads, ten times a second. */
const SIPS_PER_SECOND = 10;
/** Maximum characters of an incomplete event that are kept. */
const MAX_TAIL = 4096;
/**
 * A connection that has been idle for longer is replaced, as HTTP clients do. Servers close one after a few seconds (Node and
 * uvicorn: five), and a request that is under way just then finds it reset. Beside a contender that needs seconds for its
 * batch, the connections to all others are idle for so long.
 */
const MAX_IDLE_MS = 2000;

export class Stream {
  readonly #options: StreamOptions;
  readonly #events: StreamEvents;
  readonly #head: string;
  readonly #texts: RegExp | undefined;
  #socket: Socket | undefined;
  #tail = "";
  #status = "";
  #sip: NodeJS.Timeout | undefined;
  /** When the last request was written. */
  askedMs = 0;
  /** When the last words came. */
  wordsMs = 0;
  bytes = 0;
  #endedMs = 0;
  #isAsking = false;

  /** Connects with the first request: a server gives up a connection on which none arrives within a minute. */
  constructor(options: StreamOptions, events: StreamEvents) {
    this.#options = options;
    this.#events = events;
    this.#texts = options.readsWords ? TEXTS[options.wire] : undefined;
    this.#head = toHead(options.target, options.request);
  }

  ask(request: ClientRequest): void {
    this.#tail = "";
    this.#status = "";
    this.#isAsking = true;
    this.wordsMs = 0;
    this.askedMs = nowMs();
    const socket = this.#findOpen() ?? this.#connect();
    socket.write(
      `${this.#head}content-length: ${Buffer.byteLength(request.body)}\r\n\r\n${request.body}`,
    );
  }

  leave(): void {
    clearInterval(this.#sip);
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.destroy();
  }

  /** The connection of the request before, if its server surely keeps it open. */
  #findOpen(): Socket | undefined {
    if (this.askedMs - this.#endedMs > MAX_IDLE_MS) this.leave();
    return this.#socket;
  }

  #connect(): Socket {
    const { target, bytesPerSecond = 0 } = this.#options;
    const sipBytes = Math.ceil(bytesPerSecond / SIPS_PER_SECOND);
    const socket = connect({
      host: "127.0.0.1",
      port: target.port,
      noDelay: true,
      onread:
        sipBytes === 0
          ? {
              buffer: Buffer.allocUnsafe(65_536),
              callback: (size, buffer) => this.#read(size, buffer),
            }
          : { buffer: Buffer.allocUnsafe(sipBytes), callback: (size) => this.#take(size) },
    });
    socket.once("error", ({ message }) => this.#lose(socket, message));
    socket.once("end", () => this.#lose(socket, "the server ended the connection"));
    if (sipBytes > 0) this.#sip = setInterval(() => socket.resume(), 1000 / SIPS_PER_SECOND);
    this.#socket = socket;
    return socket;
  }

  /** Only the loss of an answer is a failure. */
  #lose(socket: Socket, reason: string): void {
    if (socket !== this.#socket) return;
    this.#socket = undefined;
    if (this.#isAsking)
      this.#fail(`${reason}, ${Math.round(nowMs() - this.askedMs)} ms after a request`);
  }

  #fail(reason: string): void {
    this.#events.onFailure(`${this.#options.target.name}: ${reason}`);
  }

  #take(size: number): boolean {
    this.bytes += size;
    return false;
  }

  #read(size: number, buffer: Uint8Array): boolean {
    this.bytes += size;
    const receivedMs = nowMs();
    const text =
      this.#tail + Buffer.from(buffer.buffer, buffer.byteOffset, size).toString("latin1");
    if (this.#status === "") {
      this.#status = text.slice(0, 12);
      if (!text.startsWith("HTTP/1.1 200")) {
        this.#fail(text.slice(0, 500));
        return true;
      }
    }
    if (this.#texts !== undefined) this.#readWords(text, this.#texts, receivedMs);
    if (text.endsWith("\r\n0\r\n\r\n") || text === "0\r\n\r\n") {
      this.#tail = "";
      this.#isAsking = false;
      this.#endedMs = nowMs();
      this.#events.onEnd(this);
    } else {
      // An incomplete event is parsed again with its rest.
      const end = text.lastIndexOf("\n\n");
      this.#tail = text.slice(end === -1 ? -MAX_TAIL : Math.max(end, text.length - MAX_TAIL));
    }
    return true;
  }

  #readWords(text: string, texts: RegExp, receivedMs: number): void {
    const words = [...text.matchAll(texts)].flatMap(
      ([, inner = ""]) => inner.match(/ [a-z]+/g) ?? [],
    );
    if (words.length === 0) return;
    this.#events.onWords(words, receivedMs, this);
    this.wordsMs = receivedMs;
  }
}

function toHead({ port, headers }: Target, { path }: ClientRequest): string {
  const lines = Object.entries({
    host: `127.0.0.1:${port}`,
    "content-type": "application/json",
    authorization: "Bearer bench",
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\n${lines.join("")}`;
}
