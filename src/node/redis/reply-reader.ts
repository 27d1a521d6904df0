/**
 * Parses Redis' replies (RESP2) from the bytes of a connection. Only replies to the store's commands are accepted; any other
 * type, such as an array, is a protocol fault.
 *
 * A value's memory is allocated when its length is known, so chunks of any size cost one copy, and no more than `maxBytes` are
 * held.
 */

export type Reply =
  | { readonly type: "status" | "error" | "text"; readonly text: string }
  | { readonly type: "integer" }
  | { readonly type: "nil" }
  /** The value exceeds the maximum. The connection cannot be read any further. */
  | { readonly type: "oversized" };

export class ProtocolFault extends Error {
  constructor() {
    super("its answer breaks the protocol");
    this.name = "ProtocolFault";
  }
}

/** Maximum length of a line, without its end. The longest lines of Redis are errors that quote the command. */
const MAX_LINE = 1024;
const LINE_FEED = 0x0a;

export class ReplyReader {
  readonly #maxBytes: number;
  readonly #onReply: (reply: Reply) => void;
  #line = "";
  /** The value that is being read, with the two bytes after it. */
  #value: Buffer | undefined;
  #filled = 0;

  /** `onReply` is called synchronously. An exception in it ends the reading. */
  constructor(maxBytes: number, onReply: (reply: Reply) => void) {
    this.#maxBytes = maxBytes;
    this.#onReply = onReply;
  }

  /** Reads a chunk. Throws a {@link ProtocolFault}; the reader is unusable afterwards. */
  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      at =
        this.#value === undefined
          ? this.#readLine(chunk, at)
          : this.#readValue(this.#value, chunk, at);
    }
  }

  #readLine(chunk: Buffer, from: number): number {
    const feed = chunk.subarray(from, from + MAX_LINE + 2).indexOf(LINE_FEED);
    const end = feed === -1 ? chunk.length : from + feed + 1;
    if (this.#line.length + end - from > MAX_LINE + 2) throw new ProtocolFault();
    this.#line += chunk.toString("latin1", from, end);
    if (feed === -1) return end;
    const line = this.#line;
    this.#line = "";
    if (!line.endsWith("\r\n")) throw new ProtocolFault();
    this.#begin(line.slice(0, -2));
    return end;
  }

  #begin(line: string): void {
    const text = line.slice(1);
    switch (line[0]) {
      case "+":
        return this.#onReply({ type: "status", text });
      case "-":
        return this.#onReply({ type: "error", text });
      case ":":
        if (!/^-?\d{1,19}$/.test(text)) throw new ProtocolFault();
        return this.#onReply({ type: "integer" });
      case "$":
        return this.#beginValue(text);
      default:
        throw new ProtocolFault();
    }
  }

  #beginValue(length: string): void {
    if (length === "-1") return this.#onReply({ type: "nil" });
    if (!/^\d{1,10}$/.test(length)) throw new ProtocolFault();
    const bytes = Number(length);
    if (bytes > this.#maxBytes) {
      this.#onReply({ type: "oversized" });
      throw new ProtocolFault();
    }
    this.#value = Buffer.allocUnsafe(bytes + 2);
    this.#filled = 0;
  }

  #readValue(value: Buffer, chunk: Buffer, from: number): number {
    const copied = chunk.copy(value, this.#filled, from);
    this.#filled += copied;
    if (this.#filled === value.length) {
      this.#value = undefined;
      if (value.toString("latin1", value.length - 2) !== "\r\n") throw new ProtocolFault();
      this.#onReply({ type: "text", text: value.toString("utf8", 0, value.length - 2) });
    }
    return from + copied;
  }
}
