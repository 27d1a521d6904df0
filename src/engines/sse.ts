/** Server-sent events out of the bytes of a response: what most inference servers stream. */
import { createParser } from "eventsource-parser";

/** Cuts a byte stream into the texts of its events. */
export interface Splitter {
  /**
   * The events these bytes complete, in order; often none or one, many when they queued up. Throws when
   * an event grows beyond {@link MAX_EVENT_CHARS}.
   */
  push(bytes: Uint8Array): string[];
}

/**
 * Characters one event may have. vLLM repeats the whole prompt as ids in its first event: 8 characters a
 * token. SGLang repeats the whole answer in each.
 */
export const MAX_EVENT_CHARS = 16 * 1024 * 1024;

/**
 * The `data` of each event. Comments, which servers send as pings, and other fields are dropped, and so
 * is an event whose end never comes.
 */
export function createSseSplitter(): Splitter {
  // A BOM in the middle of a stream is text; the parser drops the one at the beginning.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let events: string[] = [];
  const parser = createParser({
    maxBufferSize: MAX_EVENT_CHARS,
    onEvent: ({ data }) => {
      events.push(data);
    },
    onError: (error) => {
      if (error.type === "max-buffer-size-exceeded") {
        throw new Error(`sent an event longer than ${MAX_EVENT_CHARS} characters`);
      }
    },
  });
  return {
    push(bytes) {
      events = [];
      parser.feed(decoder.decode(bytes, STREAM));
      return events;
    },
  };
}

const STREAM = { stream: true };
