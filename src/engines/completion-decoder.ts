/**
 * Decodes the bytes of a streamed completion into engine events. Pure: no I/O and no clock.
 *
 * A splitter cuts the bytes into events of the wire format, a reader interprets them. All tokens of one network
 * read become one event, however many there were.
 */
import { EngineError } from "./engine-error.ts";
import type { EngineEvent, EngineFinish, EngineTokens } from "./engine.ts";
import type { ReadWholeEvents, Splitter } from "./sse.ts";

/** Interprets the stream events of one completion: the part of decoding that differs between engines. */
export interface CompletionReader {
  /**
   * Reads one event. Throws an {@link EngineError} if the event reports one, and any other error if it is
   * malformed.
   */
  push(event: string): void;
  /** Reads whole events from the bytes of the stream, where that is faster than {@link push}. */
  readonly readWhole?: ReadWholeEvents | undefined;
  /** Returns the tokens read since the last call, merged, and clears them. */
  drain(): EngineTokens | undefined;
  /** The end of the completion, once it is known. Later events may still add the usage. */
  finish(): EngineFinish | undefined;
  /** No further events are expected. Only for servers that do not end their stream with `[DONE]`. */
  isDone?(): boolean;
}

export interface CompletionDecoder {
  /**
   * Decodes one network read: at most one `open`, then at most one event of tokens. Never throws: an error sets
   * {@link failure}, and the tokens before it are still returned. Must not be called once {@link hasEnded} returns true.
   */
  push(bytes: Uint8Array): readonly EngineEvent[];
  /** No more bytes are needed: the stream said it is complete, or it failed. */
  hasEnded(): boolean;
  failure(): EngineError | undefined;
  /** The `finish` event, once the server has reported one. Later bytes may still add the usage. */
  finish(): EngineFinish | undefined;
}

export interface CompletionDecoderOptions {
  /** The subject of error messages: `vllm at http://127.0.0.1:8000`. */
  readonly serverName: string;
  readonly reader: CompletionReader;
  readonly splitter: Splitter;
  /** Emit `open` with the first event that is not an error. Otherwise the caller emits it. */
  readonly openAtFirstEvent: boolean;
}

export function createCompletionDecoder(options: CompletionDecoderOptions): CompletionDecoder {
  return new Decoder(options);
}

class Decoder implements CompletionDecoder {
  readonly #serverName: string;
  readonly #reader: CompletionReader;
  readonly #splitter: Splitter;
  #opened: boolean;
  #ended = false;
  #failure: EngineError | undefined;

  constructor({ serverName, reader, splitter, openAtFirstEvent }: CompletionDecoderOptions) {
    this.#serverName = serverName;
    this.#reader = reader;
    this.#splitter = splitter;
    this.#opened = !openAtFirstEvent;
  }

  push(bytes: Uint8Array): readonly EngineEvent[] {
    const hasEvents = this.#readEvents(bytes);
    // Tokens before an error in the same read were sampled: they are still emitted.
    const tokens = this.#reader.drain();
    this.#ended ||= this.#failure !== undefined || this.#reader.isDone?.() === true;
    if (this.#opened) return tokens === undefined ? NO_EVENTS : [tokens];
    if (!hasEvents && tokens === undefined) return NO_EVENTS;
    this.#opened = true;
    return tokens === undefined ? [OPEN] : [OPEN, tokens];
  }

  hasEnded(): boolean {
    return this.#ended;
  }

  failure(): EngineError | undefined {
    return this.#failure;
  }

  finish(): EngineFinish | undefined {
    return this.#reader.finish();
  }

  /** Returns whether the bytes completed at least one event without an error. */
  #readEvents(bytes: Uint8Array): boolean {
    try {
      return this.#splitter.push(bytes, this.#readEvent);
    } catch (error) {
      const isReported = error instanceof EngineError;
      this.#failure = isReported ? error : toProtocolError(this.#serverName, error);
      return false;
    }
  }

  readonly #readEvent = (event: string): void => {
    if (event === "[DONE]") this.#ended = true;
    else this.#reader.push(event);
  };
}

const NO_EVENTS: readonly EngineEvent[] = [];
const OPEN: EngineEvent = { type: "open" };

function toProtocolError(serverName: string, cause: unknown): EngineError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new EngineError("server-error", `${serverName} sent an invalid response: ${why}.`, {
    cause,
  });
}
