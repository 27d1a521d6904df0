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
 * Sends a request and resolves with the head of the response, for any status. Rejects with an {@link EngineError}
 * (`unreachable`), or with the signal's reason when that aborts.
 */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>;

export type RequestBody = string | Uint8Array<ArrayBuffer>;

export interface TransportRequest {
  readonly method: "GET" | "POST";
  /** The URL without credentials, which belong in a header. */
  readonly url: string;
  /** Immutable headers: a transport may cache by the object. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as text, or its UTF-8 bytes. */
  readonly body?: RequestBody;
  /** Timeout until the connection is established, where the client can detect that. The caller applies all other limits. */
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
   * consumer has returned. Buffers a bounded amount while the consumer has no room. Resolves at the end of the body, or when the
   * consumer stops; the caller must still call `close`. Rejects with an {@link EngineError} (`closed`), with the signal's reason,
   * or with the consumer's error.
   */
  pump(consumer: BytesConsumer): Promise<void>;
  /**
   * Releases the response; has no effect after its end. Without `graceMs` the connection is closed at once, which makes the
   * server stop generating. With `graceMs`, the server has that time to end the response, after which the connection can be
   * reused.
   */
  close(graceMs?: number): void;
}

export type BytesConsumer = Consumer<Uint8Array>;

/** Converts a network failure. `stage`: whether the head of the response had arrived. */
export function toTransportError(
  cause: unknown,
  stage: "head" | "body",
  request: Pick<TransportRequest, "url">,
): EngineError {
  const url = toPublicUrl(request.url);
  if (stage === "head") {
    const { why, advice } = describeHeadFailure(cause, url);
    return new EngineError("unreachable", `Cannot reach ${url} (${why}). ${advice}`, { cause });
  }
  const why = describeConnectionFailure(cause);
  const message = `${url} closed the connection in the middle of an answer (${why}).`;
  return new EngineError("closed", message, { cause });
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

/** Describes the failure with advice. A wrong scheme in a correct URL is a common mistake. */
function describeHeadFailure(cause: unknown, url: string): { why: string; advice: string } {
  const { host, protocol } = new URL(url);
  const codes = toChain(cause).map(({ code }) => code);
  const hasOneOf = (known: ReadonlySet<unknown>) => codes.some((code) => known.has(code));
  if (protocol === "https:" && hasOneOf(NOT_TLS)) {
    return {
      why: "it does not speak TLS",
      advice: `Begin its URL with http, not https: --url http://${host}.`,
    };
  }
  if (hasOneOf(UNKNOWN_ISSUER)) {
    return {
      why: "the issuer of its certificate is unknown",
      advice: "Name a file with the issuer's certificate: NODE_EXTRA_CA_CERTS=ca.pem.",
    };
  }
  const check = "Check that the server is running and that its URL is right";
  const hint = `, and if it speaks TLS, begin its URL with https: --url https://${host}`;
  const mayBeTls = protocol === "http:" && hasOneOf(CLOSED);
  return { why: describeConnectionFailure(cause), advice: `${check}${mayBeTls ? hint : ""}.` };
}

/** Error codes of an answer that is not TLS, such as status 400 of a plain HTTP server. */
const NOT_TLS: ReadonlySet<unknown> = new Set([
  "ERR_SSL_WRONG_VERSION_NUMBER",
  "ERR_SSL_PACKET_LENGTH_TOO_LONG",
]);

const UNKNOWN_ISSUER: ReadonlySet<unknown> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/** Error codes of a closed connection: servers of TLS close a connection of plain HTTP, if they do not answer 400. */
const CLOSED: ReadonlySet<unknown> = new Set(["UND_ERR_SOCKET", "ECONNRESET"]);

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

/**
 * The reason of a failure. The message of `fetch` is only "fetch failed": the reason is in its cause, or in the first of several
 * (`AggregateError`).
 */
export function describeConnectionFailure(error: unknown): string {
  const chain = toChain(error);
  for (const { code } of chain) {
    const reason = typeof code === "string" ? REASONS[code] : undefined;
    if (reason !== undefined) return reason;
  }
  const message = chain.at(-1)?.message;
  return typeof message === "string" && message !== "" ? message : String(error);
}

function toChain(error: unknown): readonly { message?: unknown; code?: unknown }[] {
  const chain: { message?: unknown; code?: unknown }[] = [];
  for (let link = error; typeof link === "object" && link !== null && chain.length < 5;) {
    chain.push(link);
    if ("errors" in link && Array.isArray(link.errors)) link = link.errors[0];
    else link = "cause" in link ? link.cause : undefined;
  }
  return chain;
}
