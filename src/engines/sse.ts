/** Splits a response into server-sent events, the streaming format of most inference servers. */
import { createParser } from "eventsource-parser";

/** Splits a byte stream into the texts of its events. */
export interface Splitter {
  /**
   * Returns the events that these bytes complete, in order; none, one, or many if they were buffered. Throws if an
   * event grows beyond {@link MAX_EVENT_CHARS}.
   */
  push(bytes: Uint8Array): string[];
}

/**
 * The most characters of one event. vLLM repeats the prompt as ids in its first event, 8 characters a token;
 * cumulative SGLang events repeat the whole answer.
 */
export const MAX_EVENT_CHARS = 16 * 1024 * 1024;

/**
 * Returns the `data` of each event. Comments, which servers send as pings, other fields and an incomplete last event
 * are dropped.
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
        throw new Error(`an event longer than ${MAX_EVENT_CHARS} characters`);
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
