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
 * @param whole called where an event begins; bytes that it consumes are not passed on.
 */
export function createSseSplitter(whole: WholeEventReader = {}): Splitter {
  return new SseSplitter(whole);
}

const LINE_FEED = 10;

/** Shared, because it keeps nothing between calls. A BOM in the middle of a stream is text. */
const WHOLE = new TextDecoder("utf-8", { ignoreBOM: true });
const STREAM = { stream: true };

class SseSplitter implements Splitter {
  readonly #whole: WholeEventReader;
  #consumer: (event: string) => void = () => {};
  #count = 0;
  /** The parser may hold the beginning of an event. */
  #isWithinEvent = false;
  #isWithinCharacter = false;
  /** Only where a read has ended within a character. */
  #decoder: InstanceType<typeof TextDecoder> | undefined;
  readonly #parser: EventSourceParser;

  constructor(whole: WholeEventReader) {
    this.#whole = whole;
    this.#parser = createParser({
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
  }

  push(bytes: Uint8Array, consumer: (event: string) => void): boolean {
    this.#consumer = consumer;
    this.#count = 0;
    let at = 0;
    while (at < bytes.length) {
      const known = this.#isWithinEvent ? at : (this.#whole.readWhole?.(bytes, at) ?? at);
      if (known > at) this.#count++;
      at = known < bytes.length ? this.#readEvent(bytes, known) : known;
    }
    return this.#count > 0;
  }

  /** Passes bytes on to the parser, up to the next blank line. Returns where that ends. */
  #readEvent(bytes: Uint8Array, from: number): number {
    const end = this.#whole.readWhole === undefined ? bytes.length : endOfEvent(bytes, from);
    this.#isWithinEvent = bytes[end - 1] !== LINE_FEED || bytes[end - 2] !== LINE_FEED;
    this.#parser.feed(this.#decode(bytes.subarray(from, end)));
    return end;
  }

  /** Without `stream` a decoder is twice as fast, and right unless a character is split. */
  #decode(bytes: Uint8Array): string {
    const endsWithin = (bytes[bytes.length - 1] ?? 0) > 0x7f;
    if (!endsWithin && !this.#isWithinCharacter) return WHOLE.decode(bytes);
    this.#decoder ??= new TextDecoder("utf-8", { ignoreBOM: true });
    this.#isWithinCharacter = endsWithin;
    return this.#decoder.decode(bytes, STREAM);
  }
}

/** Where the first blank line from `from` on ends; the end of the bytes if there is none. */
function endOfEvent(bytes: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(LINE_FEED, from); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) {
    if (bytes[at + 1] === LINE_FEED) return at + 2;
  }
  return bytes.length;
}
