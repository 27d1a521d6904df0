/**
 * The HTTP interface that engines use: one request, one streamed response.
 *
 * Two implementations: `fetch-transport.ts` for any runtime, and `node/engine-http/undici-transport.ts` for Node, where `fetch` and web
 * streams are a third of the cost of a streamed token.
 */
import type { Consumer } from "../streams/push-stream.ts";
import { EngineError } from "./engine-error.ts";
import { toPublicUrl } from "./server-url.ts";

/**
 * Sends a request and resolves with the head of the response, whatever its status. Rejects with an
 * {@link EngineError} (`unreachable`), or with the signal's reason when that aborts.
 */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>;

export type RequestBody = string | Uint8Array<ArrayBuffer>;

export interface TransportRequest {
  readonly method: "GET" | "POST";
  /** Without credentials, which belong in a header. */
  readonly url: string;
  /** Never changed: an object that is given again has the same headers. */
  readonly headers: Readonly<Record<string, string>>;
  /** Text, or its UTF-8 bytes. */
  readonly body?: RequestBody;
  /** Until the connection is established, where the client can tell. All other limits are those of the caller. */
  readonly connectTimeoutMs: number;
  /** Aborting closes the connection and rejects pending operations with the signal's reason. */
  readonly signal: AbortSignal;
}

export interface TransportResponse {
  readonly status: number;
  /** Available until `pump`, and only if the status is not an error. */
  readonly headers: { get(name: string): string | null };
  /**
   * Delivers the bytes of the body, one network read at a time. May be called once. The bytes may be overwritten once the
   * consumer has returned. Buffers a bounded amount while the consumer has no room. Resolves at the end of the body, or when
   * the consumer wants no more bytes; the caller must still call `close`. Rejects with an {@link EngineError} (`closed`), with
   * the signal's reason, or with what the consumer threw.
   */
  pump(consumer: BytesConsumer): Promise<void>;
  /**
   * Releases the response; does nothing after its end. Without `graceMs` the connection is closed at once, which makes
   * the server stop generating. With it, the server has that long to end the response, and the connection is reused
   * if it does.
   */
  close(graceMs?: number): void;
}

export type BytesConsumer = Consumer<Uint8Array>;

/** Converts a network failure. `stage` says whether the head of the response had arrived. */
export function toTransportError(
  cause: unknown,
  stage: "head" | "body",
  request: Pick<TransportRequest, "url">,
): EngineError {
  const url = toPublicUrl(request.url);
  const why = describeConnectionFailure(cause);
  return stage === "head"
    ? new EngineError(
        "unreachable",
        `Cannot reach ${url} (${why}). Check that the server is running and that its URL is right.`,
        { cause },
      )
    : new EngineError(
        "closed",
        `${url} closed the connection in the middle of an answer (${why}).`,
        {
          cause,
        },
      );
}

export function toConnectTimeoutError({
  url,
  connectTimeoutMs,
}: Pick<TransportRequest, "url" | "connectTimeoutMs">): EngineError {
  return new EngineError(
    "unreachable",
    `Cannot reach ${toPublicUrl(url)} (no connection within ${connectTimeoutMs} ms). Check the URL and the network.`,
  );
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EHOSTUNREACH: "host unreachable",
  ENETUNREACH: "network unreachable",
  ENOTFOUND: "unknown host",
  EAI_AGAIN: "unknown host",
  EPIPE: "connection reset",
  ETIMEDOUT: "connection timed out",
  UND_ERR_CONNECT_TIMEOUT: "connection timed out",
};

/** `fetch` only says "fetch failed": the reason is in its cause, or in the first of several (`AggregateError`). */
export function describeConnectionFailure(error: unknown): string {
  const chain: { message?: unknown; code?: unknown }[] = [];
  for (let link = error; typeof link === "object" && link !== null && chain.length < 5;) {
    chain.push(link);
    if ("errors" in link && Array.isArray(link.errors)) link = link.errors[0];
    else link = "cause" in link ? link.cause : undefined;
  }
  for (const { code } of chain) {
    const reason = typeof code === "string" ? REASONS[code] : undefined;
    if (reason !== undefined) return reason;
  }
  const message = chain.at(-1)?.message;
  return typeof message === "string" && message !== "" ? message : String(error);
}
