/** Splits a response into server-sent events, the streaming format of most inference servers. */
import { createParser, type EventSourceParser } from "eventsource-parser";

/** Splits a byte stream into the texts of its events. */
export interface Splitter {
  /**
   * Passes on the events that the bytes complete, in order: none, one, or many if they were buffered.
   * Returns whether there was any. Throws if an event grows beyond {@link MAX_EVENT_CHARS}, and whatever `consumer` throws.
   */
  push(bytes: Uint8Array, consumer: (event: string) => void): boolean;
}

export interface WholeEventReader {
  /**
   * Reads whole events, from `data:` to the blank line behind it, as many as it knows from `from` on. Returns where the last of
   * them ends, `from` if it knows none.
   */
  readWhole?(bytes: Uint8Array, from: number): number;
}

/**
 * The most characters of one event. vLLM repeats the prompt as ids in its first event, 8 characters a token;
 * cumulative SGLang events repeat the whole answer.
 */
export const MAX_EVENT_CHARS = 16 * 1024 * 1024;

/**
 * Passes on the `data` of each event. Comments, which servers send as pings, other fields and an incomplete last event
 * are dropped.
 *
 * @param whole called at the first event that begins in a read; bytes that it consumes are not passed on.
 */
export function createSseSplitter(whole: WholeEventReader = {}): Splitter {
  return new SseSplitter(whole);
}

const DATA = "data: ";
const LINE_FEED = 10;

/** Shared, because it keeps nothing between calls. A BOM in the middle of a stream is text. */
const WHOLE = new TextDecoder("utf-8", { ignoreBOM: true });
const STREAM = { stream: true };

/**
 * Events of one line that arrive whole, as nearly all do, are cut out here: 160 instead of 450 ns each. The parser reads
 * everything else: events that are cut by a read, comments, other fields, several lines, carriage returns.
 */
class SseSplitter implements Splitter {
  // What each read needs comes first, on neighbouring lines of the cache.
  readonly #whole: WholeEventReader;
  #consumer: (event: string) => void = () => {};
  #count = 0;
  #isWithinCharacter = false;
  /** The parser may hold the beginning of an event. */
  #isWithinEvent = false;
  #isAtBeginning = true;
  /** Only where a read has ended within a character. */
  #decoder: InstanceType<typeof TextDecoder> | undefined;
  #parser: EventSourceParser | undefined;

  constructor(whole: WholeEventReader) {
    this.#whole = whole;
  }

  push(bytes: Uint8Array, consumer: (event: string) => void): boolean {
    this.#consumer = consumer;
    this.#count = 0;
    const at = this.#whole.readWhole === undefined ? 0 : this.#readBytes(bytes);
    if (at < bytes.length) this.#readText(bytes, at);
    return this.#count > 0;
  }

  /** Reads what need not be decoded, and before it the rest of an event. Returns where it stopped. */
  #readBytes(bytes: Uint8Array): number {
    let at = 0;
    if (this.#isWithinEvent) {
      const end = endOfEvent(bytes);
      if (end === -1) return 0;
      this.#parse(this.#decode(bytes.subarray(0, end)), 0);
      at = end;
    }
    return this.#isWithinEvent || this.#isWithinCharacter ? at : this.#skipWhole(bytes, at);
  }

  #readText(bytes: Uint8Array, from: number): void {
    const isWithinCharacter = this.#isWithinCharacter;
    const text = this.#decode(from === 0 ? bytes : bytes.subarray(from));
    // Each byte is a character then.
    const hasBytes = text.length === bytes.length - from && !isWithinCharacter;
    let at = this.#isWithinEvent ? this.#parse(text, 0) : 0;
    while (at < text.length) {
      at = this.#readEvent(text, at);
      this.#isAtBeginning = false;
      if (hasBytes && !this.#isWithinEvent) at = this.#skipWhole(bytes, from + at) - from;
    }
  }

  /** Returns where the whole events from `from` on end. */
  #skipWhole(bytes: Uint8Array, from: number): number {
    const end = this.#whole.readWhole?.(bytes, from) ?? from;
    if (end > from) {
      this.#count++;
      this.#isAtBeginning = false;
    }
    return end;
  }

  /** Without `stream` a decoder is twice as fast, and right unless a character is split. */
  #decode(bytes: Uint8Array): string {
    const endsWithin = (bytes[bytes.length - 1] ?? 0) > 0x7f;
    if (!endsWithin && !this.#isWithinCharacter) return WHOLE.decode(bytes);
    this.#decoder ??= new TextDecoder("utf-8", { ignoreBOM: true });
    if (bytes.length > 0) this.#isWithinCharacter = endsWithin;
    return this.#decoder.decode(bytes, STREAM);
  }

  /** Reads the event at `at`. Returns where it ends. */
  #readEvent(text: string, at: number): number {
    if (text.startsWith(DATA, at)) {
      const end = text.indexOf("\n", at);
      const isWhole = end !== -1 && text.charCodeAt(end + 1) === LINE_FEED;
      const data = isWhole ? text.slice(at + DATA.length, end) : "";
      if (isWhole && !data.includes("\r")) {
        this.#count++;
        this.#consumer(data);
        return end + 2;
      }
    }
    return this.#parse(text, at);
  }

  /** Passes text on to the parser, up to the next blank line. Returns where that ends. */
  #parse(text: string, at: number): number {
    const blank = text.indexOf("\n\n", at);
    const end = blank === -1 ? text.length : blank + 2;
    this.#isWithinEvent = blank === -1;
    this.#parser ??= this.#createParser();
    this.#parser.feed(text.slice(at, end));
    return end;
  }

  #createParser(): EventSourceParser {
    const parser = createParser({
      maxBufferSize: MAX_EVENT_CHARS,
      onEvent: ({ data }) => {
        this.#count++;
        this.#consumer(data);
      },
      onError: (error) => {
        if (error.type === "max-buffer-size-exceeded") {
          throw new Error(`an event longer than ${MAX_EVENT_CHARS} characters`);
        }
      },
    });
    // It drops a BOM at the beginning of its input, which is not the beginning of the stream.
    if (!this.#isAtBeginning) parser.feed("\n");
    return parser;
  }
}

/** The end of the first blank line, or -1. */
function endOfEvent(bytes: Uint8Array): number {
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) {
    if (bytes[at + 1] === LINE_FEED) return at + 2;
  }
  return -1;
}
