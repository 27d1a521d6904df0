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

/** The error of a parsed stream event, if it is one. Check this before reading anything else from the event. */
export function findServerError(frame: unknown): ServerErrorBody | undefined {
  if (!isObject(frame)) return undefined;
  if (frame["error"] !== undefined && frame["error"] !== null) {
    return toServerErrorBody(frame["error"], frame);
  }
  return frame["object"] === "error" ? toServerErrorBody(frame, frame) : undefined;
}

/** The error in the body of a failed response; made from the status if the body says nothing. */
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
  const detail = serverError.isOurs === true ? `: ${withStop(serverError.message)}` : ".";
  const message = `${server} ${VERBS[kind]}${status === undefined ? "" : ` (${status})`}${detail}${ADVICE[kind] ?? ""}`;
  return new EngineError(kind, message, {
    serverMessage: serverError.message,
    ...(status !== undefined && { status }),
    ...(retryAfter !== undefined && { retryAfter }),
  });
}

/** Seconds of a `Retry-After` header: a number, or a date relative to the response's `Date` header. */
export function readRetryAfter(headers: { get(name: string): string | null }): number | undefined {
  const value = headers.get("retry-after")?.trim();
  if (value === undefined || value === "") return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value);
  const seconds = (Date.parse(value) - Date.parse(headers.get("date") ?? "")) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}

const VERBS: Readonly<Record<EngineErrorKind, string>> = {
  unreachable: "cannot be reached",
  unavailable: "has no available backend",
  timeout: "gave up waiting",
  overloaded: "cannot accept the request now",
  loading: "is still loading its model",
  "rate-limit": "is rate limited",
  "tenant-limit": "has reached the limit of this tenant",
  auth: "refused our key",
  "not-found": "does not know the path or the model",
  "context-length": "refused the request as too long",
  "bad-request": "refused the request",
  "server-error": "failed",
  closed: "ended the answer early",
};

const ADVICE: Partial<Readonly<Record<EngineErrorKind, string>>> = {
  auth: " Set the engine's API key.",
  "not-found": " Check the engine's URL and its model name.",
};

/**
 * vLLM says `param: "input_tokens"`, llama-server `type: "exceed_context_size_error"`; the others only say
 * it in words: "maximum context length", "longer than the model's context length", "max_seq_len".
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

/** Shortens a message, which may be a proxy's HTML page, to one line of at most 500 characters. */
function toPlainText(text: string): string {
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(text)?.[1];
  const plain = (title ?? text.replace(/<[a-z/!][^>]*>/gi, " ")).replace(/\s+/g, " ").trim();
  return plain.length > 500 ? `${plain.slice(0, 500)}…` : plain;
}

function withStop(sentence: string): string {
  return /[.!?\u2026]$/.test(sentence) ? sentence : `${sentence}.`;
}
