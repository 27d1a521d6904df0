/**
 * Decodes the bytes of a streamed completion into engine events. Pure: no I/O and no clock.
 *
 * A splitter cuts the bytes into events of the wire format, a reader interprets them. All tokens of one network
 * read become one event, however many there were.
 */
import { EngineError } from "./engine-error.ts";
import type { EngineEvent, EngineFinish, EngineProgress, EngineTokens } from "./engine.ts";
import { andThen, type Consumer, type Demand } from "../streams/push-stream.ts";
import type { Splitter } from "./sse.ts";

/** Interprets the stream events of one completion: the part of decoding that differs between engines. */
export interface CompletionReader {
  /**
   * Reads one event. Throws an {@link EngineError} if the event reports one, and any other error if it is
   * malformed.
   */
  push(event: string): void;
  /** Returns the tokens read since the last call, merged, and clears them. Before the first token: the progress of the server. */
  drain(): EngineTokens | EngineProgress | undefined;
  /** The end of the completion, once it is known. Later events may still add the usage. */
  finish(): EngineFinish | undefined;
  /** No further events are expected. Only for servers that do not end their stream with `[DONE]`. */
  isDone?(): boolean;
}

export interface CompletionDecoderOptions {
  /** The subject of error messages: `vllm at http://127.0.0.1:8000`. */
  readonly serverName: string;
  readonly reader: CompletionReader;
  readonly splitter: Splitter;
  /** Emit `open` with the first event that is not an error. Otherwise the caller emits it. */
  readonly openAtFirstEvent: boolean;
}

export class CompletionDecoder {
  // Fields that each read needs come first, on neighbouring lines of the cache.
  readonly #reader: CompletionReader;
  readonly #splitter: Splitter;
  readonly #readEvent = (event: string): void => {
    if (event === "[DONE]") this.#ended = true;
    else this.#reader.push(event);
  };
  #opened: boolean;
  #ended = false;
  #failure: EngineError | undefined;
  readonly #serverName: string;

  constructor({ serverName, reader, splitter, openAtFirstEvent }: CompletionDecoderOptions) {
    this.#serverName = serverName;
    this.#reader = reader;
    this.#splitter = splitter;
    this.#opened = !openAtFirstEvent;
  }

  /**
   * Decodes one network read and delivers at most one `open`, then at most one event of tokens. Throws only errors of the consumer
   * throws: an error sets {@link failure}, and the tokens before it are still delivered. Must not be called once
   * {@link hasEnded} returns true.
   */
  push(bytes: Uint8Array, consumer: Consumer<EngineEvent>): Demand {
    const hasEvents = this.#readEvents(bytes);
    // Tokens before an error in the same read were sampled: they are still emitted.
    const tokens = this.#expectPlausible(this.#reader.drain());
    this.#ended ||= this.#failure !== undefined || this.#reader.isDone?.() === true;
    if (this.#opened) return tokens === undefined || consumer(tokens);
    if (!hasEvents && tokens === undefined) return true;
    this.#opened = true;
    const demand = consumer(OPEN);
    return tokens === undefined ? demand : andThen(demand, () => consumer(tokens));
  }

  /** No more bytes are needed: the stream is complete, or it failed. */
  hasEnded(): boolean {
    return this.#ended;
  }

  failure(): EngineError | undefined {
    return this.#failure;
  }

  /** The `finish` event, once the server has reported one. Later bytes may still add the usage. */
  finish(): EngineFinish | undefined {
    return this.#reader.finish();
  }

  /**
   * Checks the length of text, which is split into tokens and parsed at once: an implausible length would block other requests.
   */
  #expectPlausible(
    tokens: EngineTokens | EngineProgress | undefined,
  ): EngineTokens | EngineProgress | undefined {
    if (
      tokens === undefined ||
      tokens.type === "ids" ||
      tokens.type === "progress" ||
      countCharacters(tokens) <= MAX_TEXT_CHARS
    ) {
      return tokens;
    }
    const why = new Error(`more than ${MAX_TEXT_CHARS} characters of text at once`);
    this.#failure ??= toProtocolError(this.#serverName, why);
    return undefined;
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
}

/** Maximum characters of one read. An answer of 131,072 tokens of English has about as many. */
const MAX_TEXT_CHARS = 512 * 1024;

function countCharacters(tokens: Exclude<EngineTokens, { type: "ids" }>): number {
  if (tokens.type === "text") return tokens.text.length;
  return tokens.pieces.reduce((sum, piece) => sum + ("text" in piece ? piece.text.length : 0), 0);
}

const OPEN: EngineEvent = { type: "open" };

function toProtocolError(serverName: string, cause: unknown): EngineError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new EngineError("server-error", `${serverName} sent an invalid response: ${why}.`, {
    cause,
  });
}
