/** Parses an HTTP/1.1 response whose bytes arrive in any pieces, as strictly as llhttp. */
import { maxHeaderSize } from "node:http";

/** How long an idle connection is kept, unless the server says how long it keeps it. These three are undici's. */
const KEEP_ALIVE_MS = 4_000;
const MAX_KEEP_ALIVE_MS = 600_000;
/** The client closes this much earlier than the server. */
const KEEP_ALIVE_MARGIN_MS = 2_000;

const STATUS_LINE = /^HTTP\/(0\.9|1\.0|1\.1|2\.0) (\d{3})(?: [^\r]*)?$/;
const STATUS_BEGINNING = "HTTP/";
const HEADER_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/;
const LENGTH = /^\d+[ \t]*$/;
const CHUNKED_LAST = /(?:^|,)[ \t]*chunked[ \t]*$/i;
/** Also bounds what is not counted as a header: white space and the status text. */
const MAX_LINE_CHARS = 4 * maxHeaderSize;
const CR = 13;
const LF = 10;
const TAB = 9;
const SEMICOLON = 59;
/** Hexadecimal digits of a chunk size that the short way reads. */
const MOST_DIGITS = 6;
const HEX_DIGITS = Int8Array.from({ length: 256 }, (_, byte) =>
  "0123456789abcdef".indexOf(String.fromCharCode(byte).toLowerCase()),
);

const NO_HEADERS: Record<string, string> = Object.freeze(Object.create(null));

/** Numbers, because storing a string also touches the memory page that it is in. */
const State = {
  status: 0,
  header: 1,
  length: 2,
  untilClose: 3,
  chunkSize: 4,
  chunkExtension: 5,
  chunkSizeLf: 6,
  chunk: 7,
  chunkCr: 8,
  chunkLf: 9,
  trailer: 10,
} as const;

type State = (typeof State)[keyof typeof State];

/** Parses one response. Bare line feeds and ambiguous lengths are errors. */
export class ResponseReader {
  // What each read needs comes first, on neighbouring lines of the cache.
  #state: State = State.status;
  /** Missing bytes of the body or the chunk. -1: its length is not known, or has no digit yet. */
  #left = -1;
  hasEnded = false;
  failure: Error | undefined;
  /** 0 until the head is complete. */
  status = 0;
  /** Where the bytes of the body begin, and end, in those that were decoded last. */
  bodyFrom = 0;
  bodyTo = 0;
  /** The response does not end with the connection. */
  isPersistent = false;
  /** How long the connection may be kept after the response. */
  keepAliveMs = 0;
  #headers: Record<string, string> = Object.create(null);
  /** The beginning of an incomplete line. */
  #line = "";
  #isHttp11 = false;
  #nextStatus = 0;
  #headerChars = 0;

  /**
   * Reads the first `length` bytes, and moves those of the body together in place, from {@link bodyFrom} to {@link bodyTo}.
   * They are valid also if `failure` is set.
   */
  decode(bytes: Buffer, length: number): void {
    let begin = 0;
    let end = 0;
    let at = 0;
    try {
      while (at < length && !this.hasEnded) {
        switch (this.#state) {
          case State.chunk:
          case State.length:
          case State.untilClose: {
            const rest = length - at;
            const size = this.#left === -1 ? rest : Math.min(this.#left, rest);
            if (end === 0) begin = end = at;
            if (end !== at) bytes.copyWithin(end, at, at + size);
            end += size;
            at += size;
            if (this.#left === -1) break;
            this.#left -= size;
            if (this.#left > 0) break;
            if (this.#state === State.chunk) this.#state = State.chunkCr;
            else this.hasEnded = true;
            break;
          }
          case State.chunkCr:
            if (at + 1 < length && bytes[at] === CR && bytes[at + 1] === LF) {
              at = this.#readSizeLine(bytes, at + 2, length);
            } else this.#expect(bytes[at++], CR, State.chunkLf);
            break;
          case State.chunkLf:
            this.#expect(bytes[at++], LF, State.chunkSize);
            this.#left = -1;
            break;
          case State.chunkSize: {
            const next = this.#left === -1 ? this.#readSizeLine(bytes, at, length) : at;
            if (next === at) this.#readSize(bytes[at++] ?? 0);
            else at = next;
            break;
          }
          case State.chunkExtension:
            this.#skipExtension(bytes[at++] ?? 0);
            break;
          case State.chunkSizeLf:
            this.#expect(bytes[at++], LF, this.#left === 0 ? State.trailer : State.chunk);
            break;
          default:
            at = this.#readLine(bytes, at, length);
        }
      }
    } catch (error) {
      this.failure = error instanceof Error ? error : new Error(String(error));
    }
    // More than one response: the connection is not used again.
    if (at < length) this.keepAliveMs = 0;
    this.bodyFrom = begin;
    this.bodyTo = end;
  }

  /**
   * The headers, once. Names are in lower case. The values of a repeated header are joined. Not kept, because the reader
   * lasts as long as the response.
   */
  takeHeaders(): Record<string, string> {
    const headers = this.#headers;
    this.#headers = NO_HEADERS;
    return headers;
  }

  /** Called when the connection ends. Returns why the response is incomplete, if it is. */
  end(): Error | undefined {
    if (this.#state === State.untilClose) return undefined;
    return this.#state === State.length
      ? new Error("Response body length does not match content-length header")
      : toProtocolError("Invalid EOF state");
  }

  /**
   * Reads the line before a chunk at once if it is the usual one, a size alone. Returns where it ends, or `from`, with nothing
   * read, where it is cut by the end of the bytes, and for anything else.
   */
  #readSizeLine(bytes: Buffer, from: number, length: number): number {
    this.#state = State.chunkSize;
    this.#left = -1;
    const most = Math.min(length - 1, from + MOST_DIGITS);
    let at = from;
    let size = 0;
    for (; at < most; at++) {
      const digit = HEX_DIGITS[bytes[at] ?? 0] ?? -1;
      if (digit === -1) break;
      size = size * 16 + digit;
    }
    if (size === 0 || at + 1 >= length || bytes[at] !== CR || bytes[at + 1] !== LF) return from;
    this.#left = size;
    this.#state = State.chunk;
    return at + 2;
  }

  #expect(byte: number | undefined, expected: number, next: State): void {
    if (byte !== expected) throw toProtocolError("Missing end of line in a chunk");
    this.#state = next;
  }

  #readSize(byte: number): void {
    const digit = HEX_DIGITS[byte] ?? -1;
    if (digit !== -1) {
      this.#left = Math.max(this.#left, 0) * 16 + digit;
      if (this.#left > Number.MAX_SAFE_INTEGER) throw toProtocolError("Chunk size overflow");
    } else if (this.#left === -1 || (byte !== CR && byte !== SEMICOLON)) {
      throw toProtocolError("Invalid character in chunk size");
    } else {
      this.#state = byte === CR ? State.chunkSizeLf : State.chunkExtension;
    }
  }

  #skipExtension(byte: number): void {
    if (byte === CR) this.#state = State.chunkSizeLf;
    else if (byte < 32 && byte !== TAB)
      throw toProtocolError("Invalid character in chunk extensions");
  }

  /** Reads a line of text to its end, or to the end of the bytes. Returns where it stopped. */
  #readLine(bytes: Buffer, at: number, length: number): number {
    // Line breaks before the response are tolerated.
    const isBefore = this.#state === State.status && this.#line === "";
    if (isBefore && (bytes[at] === CR || bytes[at] === LF)) return at + 1;
    // Beyond `length` are bytes of former reads.
    const found = bytes.indexOf(LF, at);
    const end = found < length ? found : -1;
    const isNew = this.#line.length < STATUS_BEGINNING.length;
    this.#line += bytes.toString("latin1", at, end === -1 ? length : end);
    if (this.#line.length > MAX_LINE_CHARS) throw toOverflowError();
    // Only while it is short: a line that arrives byte by byte is not read again for each of them.
    if (isNew && this.#state === State.status && !beginsStatus(this.#line)) {
      throw toProtocolError("Expected HTTP/");
    }
    if (end === -1) return length;
    if (!this.#line.endsWith("\r")) throw toProtocolError("Missing expected CR");
    const line = this.#line.slice(0, -1);
    this.#line = "";
    if (this.#state === State.status) this.#readStatus(line);
    else if (line !== "") this.#readHeader(line);
    else if (this.#state === State.trailer) this.hasEnded = true;
    else this.#endHead();
    return end + 1;
  }

  #readStatus(line: string): void {
    const [, version, status] = STATUS_LINE.exec(line) ?? [];
    if (version === undefined) throw toProtocolError("Invalid status line");
    this.#isHttp11 = version === "1.1";
    this.#nextStatus = Number(status);
    this.#state = State.header;
  }

  #readHeader(line: string): void {
    const [, field, value] = HEADER_LINE.exec(line) ?? [];
    if (field === undefined || value === undefined) throw toProtocolError("Invalid header");
    this.#headerChars += field.length + value.length;
    if (this.#headerChars >= maxHeaderSize) throw toOverflowError();
    const name = field.toLowerCase();
    if (this.#state === State.header) {
      const former = this.#headers[name];
      this.#headers[name] = former === undefined ? value : `${former}, ${value}`;
    } else if (name === "content-length") throw toLengthError();
  }

  #endHead(): void {
    const status = this.#nextStatus;
    const { "transfer-encoding": encoding, "content-length": length } = this.#headers;
    if (encoding !== undefined && length !== undefined) throw toLengthError();
    if (length !== undefined && !(LENGTH.test(length) && Number.isSafeInteger(Number(length)))) {
      throw toProtocolError("Invalid Content-Length");
    }
    this.#headerChars = 0;
    // `100 Continue` and `101 Switching Protocols` were not asked for.
    if (status < 102) throw new Error("bad response");
    if (status < 200) {
      this.#headers = Object.create(null);
      this.#state = State.status;
      return;
    }
    this.status = status;
    this.#left = Number(length ?? -1);
    if (encoding !== undefined && CHUNKED_LAST.test(encoding)) this.#state = State.chunkSize;
    else this.#state = length === undefined ? State.untilClose : State.length;
    let hasLength = this.#state !== State.untilClose;
    if (status === 204 || status === 304) {
      this.hasEnded = true;
      // A server that declares a body may send it.
      hasLength = encoding === undefined && this.#left <= 0;
    } else if (this.#left === 0) this.hasEnded = true;
    this.isPersistent = hasLength && this.#isKept();
    if (this.isPersistent) this.keepAliveMs = toKeepAliveMs(this.#headers["keep-alive"]);
  }

  /** Whether the server keeps the connection, as far as its `Connection` header says. */
  #isKept(): boolean {
    const tokens = (this.#headers["connection"] ?? "").toLowerCase().split(/[ \t]*,[ \t]*/);
    return this.#isHttp11 ? !tokens.includes("close") : tokens.includes("keep-alive");
  }
}

function beginsStatus(line: string): boolean {
  return STATUS_BEGINNING.startsWith(line.slice(0, STATUS_BEGINNING.length));
}

function toKeepAliveMs(header = ""): number {
  const seconds = /timeout=(\d+)/.exec(header)?.[1];
  if (seconds === undefined) return KEEP_ALIVE_MS;
  return Math.min(Number(seconds) * 1000 - KEEP_ALIVE_MARGIN_MS, MAX_KEEP_ALIVE_MS);
}

function toProtocolError(reason: string): Error {
  return new Error(`Response does not match the HTTP/1.1 protocol (${reason})`);
}

function toLengthError(): Error {
  return toProtocolError("Content-Length can't be present with Transfer-Encoding");
}

function toOverflowError(): Error {
  return new Error("Headers Overflow Error");
}
