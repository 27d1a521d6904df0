/** Splits a response into server-sent events, the streaming format of most inference servers. */
import { createParser } from "eventsource-parser";

/** Splits a byte stream into the texts of its events. */
export interface Splitter {
  /**
   * Delivers the events that the bytes complete, in order: none, one, or many if they were buffered. Returns whether there was
   * any. Throws if an event grows beyond {@link MAX_EVENT_CHARS}, and rethrows errors of `consumer`.
   */
  push(bytes: Uint8Array, consumer: (event: string) => void): boolean;
}

/**
 * Maximum characters of one event. vLLM repeats the prompt as ids in its first event, 8 characters a token; cumulative SGLang
 * events repeat the whole answer.
 */
export const MAX_EVENT_CHARS = 16 * 1024 * 1024;

/**
 * Delivers the `data` of each event. Comments, which servers send as pings, other fields and an incomplete last event are
 * dropped.
 */
export function createSseSplitter(): Splitter {
  return new SseSplitter();
}

/** A shared decoder, without state between calls. A BOM in the middle of a stream is text. */
const WHOLE = new TextDecoder("utf-8", { ignoreBOM: true });
const STREAM = { stream: true };

class SseSplitter implements Splitter {
  #consumer: (event: string) => void = () => {};
  #count = 0;
  #isWithinCharacter = false;
  /** A decoder with state, only after a read that ended within a character. */
  #decoder: InstanceType<typeof TextDecoder> | undefined;
  readonly #parser = createParser({
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

  push(bytes: Uint8Array, consumer: (event: string) => void): boolean {
    this.#consumer = consumer;
    this.#count = 0;
    this.#parser.feed(this.#decode(bytes));
    return this.#count > 0;
  }

  /** Decodes bytes. Without `stream` a decoder is twice as fast, and correct unless a character is split. */
  #decode(bytes: Uint8Array): string {
    const endsWithin = (bytes[bytes.length - 1] ?? 0) > 0x7f;
    if (!endsWithin && !this.#isWithinCharacter) return WHOLE.decode(bytes);
    this.#decoder ??= new TextDecoder("utf-8", { ignoreBOM: true });
    if (bytes.length > 0) this.#isWithinCharacter = endsWithin;
    return this.#decoder.decode(bytes, STREAM);
  }
}
