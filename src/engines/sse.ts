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

const STREAM = { stream: true };

class SseSplitter implements Splitter {
  #consumer: (event: string) => void = () => {};
  #count = 0;
  /** A read may end within a character. A BOM in the middle of a stream is text. */
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
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
    this.#parser.feed(this.#decoder.decode(bytes, STREAM));
    return this.#count > 0;
  }
}
