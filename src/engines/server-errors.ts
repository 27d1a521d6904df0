/**
 * Converts the error formats of inference servers to {@link EngineError}.
 *
 * Seen in HTTP bodies and in stream frames: `{"error":{"message","type","param","code"}}` (vLLM,
 * llama-server, SGLang streams), `{"error":"Unauthorized"}` (vLLM behind a key, Ollama, MLX-LM), flat
 * `{"object":"error","message",…}` (SGLang, TensorRT-LLM), `{"detail":…}` (FastAPI), HTML of a proxy.
 */
import { EngineError, type EngineErrorKind } from "./engine-error.ts";
import { isObject, parseJson } from "./untyped-json.ts";

/** An error as the server reported it, independent of its format. */
export interface ServerErrorBody {
  readonly message: string;
  readonly type?: string;
  readonly param?: string;
  /** The message is the gateway's own: it quotes neither a prompt nor a key, and may be logged. */
  readonly isOurs?: boolean;
  /** The HTTP status inside the body, if there is one. */
  readonly status?: number;
}

/** The error of a parsed stream event. Undefined: the event is not an error. Check this before any other member of the event. */
export function findServerError(frame: unknown): ServerErrorBody | undefined {
  if (!isObject(frame)) return undefined;
  if (frame["error"] !== undefined && frame["error"] !== null) {
    return toServerErrorBody(frame["error"], frame);
  }
  return frame["object"] === "error" ? toServerErrorBody(frame, frame) : undefined;
}

/** The error in the body of a failed response; derived from the status if the body has none. */
export function readServerError(body: string, status: number): ServerErrorBody {
  const parsed = parseJson(body);
  if (isObject(parsed)) {
    const { detail, message } = parsed;
    const serverError =
      findServerError(parsed) ??
      (detail !== undefined || message !== undefined
        ? toServerErrorBody(message ?? detail, parsed)
        : undefined);
    if (serverError !== undefined) return serverError;
  }
  const text = toPlainText(body);
  return { message: text === "" ? `HTTP ${status} without a message` : text };
}

/**
 * @param server the subject of the message: `vllm at http://127.0.0.1:8000`.
 * @param status the HTTP status of the response; an event inside a stream has none but may name one.
 */
export function toEngineError(
  server: string,
  serverError: ServerErrorBody,
  status = serverError.status,
  retryAfter?: number,
): EngineError {
  const kind = mapKind(serverError, status);
  if (status === 400 && PLAIN_HTTP_REFUSALS.has(serverError.message)) {
    const message = `${server} speaks TLS (400). Begin its URL with https, not http.`;
    return new EngineError(kind, message, { status, serverMessage: serverError.message });
  }
  const detail = serverError.isOurs === true ? `: ${withStop(serverError.message)}` : ".";
  const message = `${server} ${VERBS[kind]}${status === undefined ? "" : ` (${status})`}${detail}${ADVICE[kind] ?? ""}`;
  return new EngineError(kind, message, {
    serverMessage: serverError.message,
    ...(status !== undefined && { status }),
    ...(retryAfter !== undefined && { retryAfter }),
  });
}

/** Maximum wait of `Retry-After`: clients would not wait longer. */
const MAX_RETRY_AFTER_SECONDS = 3600;

/** Seconds of a `Retry-After` header: a number, or a date relative to the response's `Date` header. Anything else is ignored. */
export function readRetryAfter(headers: { get(name: string): string | null }): number | undefined {
  const value = headers.get("retry-after")?.trim();
  if (value === undefined || value === "") return undefined;
  const seconds = /^\d+(\.\d+)?$/.test(value)
    ? Number(value)
    : (parseHttpDate(value) - parseHttpDate(headers.get("date") ?? "")) / 1000;
  if (Number.isNaN(seconds)) return undefined;
  return Math.min(Math.max(0, seconds), MAX_RETRY_AFTER_SECONDS);
}

/** Parses an HTTP date. `Date.parse` alone accepts nearly any text, such as `-5`. */
function parseHttpDate(text: string): number {
  return /^[A-Z][a-z]{2}, \d\d /.test(text) ? Date.parse(text) : NaN;
}

const VERBS: Readonly<Record<EngineErrorKind, string>> = {
  unreachable: "cannot be reached",
  unavailable: "has no available backend",
  timeout: "gave up waiting",
  overloaded: "cannot accept the request now",
  loading: "is still loading its model",
  "rate-limit": "is rate limited",
  "tenant-limit": "has reached the limit of this tenant",
  auth: "rejected the API key",
  "not-found": "does not know the path or the model",
  "context-length": "refused the request as too long",
  "bad-request": "refused the request",
  "server-error": "failed",
  closed: "ended the answer early",
};

const ADVICE: Partial<Readonly<Record<EngineErrorKind, string>>> = {
  auth: " Set it: HARMONY_GATEWAY_ENGINE_KEY, or --engine-key.",
  "not-found": " Check the engine's URL and its model name.",
};

/** The answers of nginx and of servers in Go (including Ollama's proxies) to plain HTTP on a port of TLS, as the whole text. */
const PLAIN_HTTP_REFUSALS: ReadonlySet<string> = new Set([
  "400 The plain HTTP request was sent to HTTPS port",
  "Client sent an HTTP request to an HTTPS server.",
]);

/**
 * vLLM sends `param: "input_tokens"`, llama-server `type: "exceed_context_size_error"`; others use words only: "maximum context
 * length", "longer than the model's context length", "max_seq_len".
 */
const CONTEXT_LENGTH =
  /context[ _-]?(length|size|window)|max_model_len|max_seq_len|max_num_tokens|(prompt|input) is too long/i;

function mapKind(
  { message, type, param }: ServerErrorBody,
  status: number | undefined,
): EngineErrorKind {
  if (param === "input_tokens" || type === "exceed_context_size_error") return "context-length";
  if (status === undefined) {
    if (CONTEXT_LENGTH.test(message)) return "context-length";
    return /^(BadRequestError|invalid_request_error)$/.test(type ?? "")
      ? "bad-request"
      : "server-error";
  }
  switch (status) {
    // 402: the account at a hosted engine has no credit. Like a wrong key, only the operator can fix it.
    case 401:
    case 402:
    case 403:
      return "auth";
    case 404:
    case 405:
      return "not-found";
    case 408:
    case 504:
      return "timeout";
    case 429:
      return "rate-limit";
    case 503:
    case 529:
      return "overloaded";
    default:
      if (status >= 500) return "server-error";
      // A redirect: the configured URL is not the final one.
      if (status < 400) return "not-found";
      return CONTEXT_LENGTH.test(message) ? "context-length" : "bad-request";
  }
}

function toServerErrorBody(
  error: unknown,
  around: Readonly<Record<string, unknown>>,
): ServerErrorBody {
  if (!isObject(error)) {
    return { message: toPlainText(toWords(error)), ...readDetails(around) };
  }
  const words = error["message"] ?? error["detail"] ?? error["msg"] ?? error;
  return { message: toPlainText(toWords(words)), ...readDetails(error) };
}

function readDetails({ type, param, code }: Readonly<Record<string, unknown>>): {
  type?: string;
  param?: string;
  status?: number;
} {
  const status = Number(code);
  return {
    ...(typeof type === "string" && { type }),
    ...(typeof param === "string" && { param }),
    ...(Number.isInteger(status) && status >= 400 && status <= 599 && { status }),
  };
}

function toWords(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Maximum characters of a server's text that are read, which include the title of a page. */
const MAX_TEXT_CHARS = 4096;
const MAX_MESSAGE_CHARS = 500;

/**
 * Shortens a message, which may be a proxy's HTML page, to one line. No pattern reads beyond the next `<`: clients reach this text if
 * a server quotes their grammar, so that a pattern must not begin again at each of its characters.
 */
function toPlainText(text: string): string {
  const beginning = text.slice(0, MAX_TEXT_CHARS);
  const title = /<title[^<>]*>([^<]*)<\/title>/i.exec(beginning)?.[1];
  const plain = (title ?? beginning.replace(/<[a-z/!][^<>]*>/gi, " "))
    .replace(UNPRINTABLE, " ")
    .trim();
  const isWhole = text.length <= MAX_TEXT_CHARS && plain.length <= MAX_MESSAGE_CHARS;
  return isWhole ? plain : `${plain.slice(0, MAX_MESSAGE_CHARS)}…`;
}

/** White space, control characters, and bidirectional marks, which could change the display on a terminal or a page. */
const UNPRINTABLE = /[\s\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu;

function withStop(sentence: string): string {
  return /[.!?\u2026]$/.test(sentence) ? sentence : `${sentence}.`;
}
