/** Checks and reads HTTP responses of an inference server, and turns failed ones into an {@link EngineError}. */
import { EngineError } from "./engine-error.ts";
import {
  findServerError,
  readRetryAfter,
  readServerError,
  type ServerErrorBody,
  toEngineError,
} from "./server-errors.ts";
import { toPublicUrl } from "./server-url.ts";
import type { TransportResponse } from "./transport.ts";
import { parseJson, parsePythonJson } from "./untyped-json.ts";

/** The server as named in errors, and the secrets to remove from them. */
export interface ServerIdentity {
  /** `vllm at http://127.0.0.1:8000`. */
  readonly name: string;
  /** Keys and other header values, removed from all texts of the server. */
  readonly secrets: readonly string[];
}

/** Maximum bytes of an error body or of the answer to a query. */
const MAX_BODY_BYTES = 1024 * 1024;

/**
 * Accepts a streamed response. Throws an {@link EngineError} if the server sent an error or a document instead,
 * under status 200 too.
 */
export async function expectStream(
  identity: ServerIdentity,
  response: TransportResponse,
): Promise<void> {
  const type = response.headers.get("content-type") ?? "";
  const isSuccess = response.status >= 200 && response.status < 300;
  // A missing or unusual content type is accepted: some servers do not set it.
  if (isSuccess && !/^(application\/json|text\/html)\b/i.test(type)) return;
  const body = await readText(response);
  if (!isSuccess) throw toHttpError(identity, response, body);
  const serverError = findServerError(parseJson(body));
  if (serverError !== undefined) throw toServerError(identity, serverError);
  throw toUnexpectedAnswer(identity, `${type} instead of a stream`, response, body);
}

/** The JSON body; undefined if the server does not know the path. Throws an {@link EngineError} otherwise. */
export async function readAnswer(
  identity: ServerIdentity,
  response: TransportResponse,
): Promise<unknown> {
  const body = await readText(response);
  if (NO_SUCH_PATH.has(response.status)) return undefined;
  if (response.status < 200 || response.status > 299) throw toHttpError(identity, response, body);
  const answer = parsePythonJson(body);
  if (answer !== undefined) return answer;
  throw toUnexpectedAnswer(identity, "something that is not JSON", response, body);
}

/** Throws an {@link EngineError} if the status is 400 or above. The body is read and ignored otherwise. */
export async function expectHealthy(
  identity: ServerIdentity,
  path: string,
  response: TransportResponse,
): Promise<void> {
  const { status } = response;
  const body = await readText(response);
  if (NO_SUCH_PATH.has(status)) {
    const message = `${identity.name} has no health check at ${path} (${status}): its health is judged by its requests.`;
    throw new EngineError("not-found", message, { status });
  }
  if (status >= 400) throw toHttpError(identity, response, body);
}

const NO_SUCH_PATH: ReadonlySet<number> = new Set([404, 405, 501]);

/**
 * An error that the server reported, without our secrets.
 *
 * @param retryAfter in seconds.
 */
export function toServerError(
  { name, secrets }: ServerIdentity,
  serverError: ServerErrorBody,
  status?: number,
  retryAfter?: number,
): EngineError {
  const message = redact(serverError.message, secrets);
  return toEngineError(name, { ...serverError, message }, status, retryAfter);
}

function toUnexpectedAnswer(
  { name, secrets }: ServerIdentity,
  what: string,
  { status }: TransportResponse,
  body: string,
): EngineError {
  return new EngineError(
    "server-error",
    `${name} answered with ${what.slice(0, MAX_HEADER_CHARS)}. Is this the URL of an inference server?`,
    { status, serverMessage: redact(readServerError(body, status).message, secrets) },
  );
}

function toHttpError(
  identity: ServerIdentity,
  { status, headers }: TransportResponse,
  body: string,
): EngineError {
  const location = headers.get("location");
  const serverError =
    status < 400 && location !== null
      ? { message: `redirected to ${toPublicLocation(location)}`, isOurs: true }
      : readServerError(body, status);
  return toServerError(identity, serverError, status, readRetryAfter(headers));
}

/** Maximum characters of a server's header in a message. */
const MAX_HEADER_CHARS = 200;

/** The public form of a `Location` header, which may be relative. */
function toPublicLocation(location: string): string {
  const shown = URL.canParse(location) ? toPublicUrl(location) : location;
  return shown.slice(0, MAX_HEADER_CHARS);
}

/** Reads a body as text and closes the response. Bytes beyond `maxBytes` are left unread. */
export async function readText(
  response: TransportResponse,
  maxBytes = MAX_BODY_BYTES,
): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  try {
    await response.pump((bytes) => {
      size += bytes.length;
      text += decoder.decode(bytes, { stream: true });
      return size < maxBytes;
    });
  } finally {
    response.close();
  }
  return text;
}

/** Minimum length of a secret: replacing shorter values would break up words. */
const MIN_SECRET_LENGTH = 6;

const REDACTED = "[redacted]";

/** The header values to remove from messages, longest first: all but `accept-encoding`. */
export function toSecrets(headers: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(headers)
    .filter(([name]) => name.toLowerCase() !== "accept-encoding")
    .map(([, value]) => value.replace(/^(Bearer|Basic) +/i, ""))
    .filter((value) => value.length >= MIN_SECRET_LENGTH)
    .toSorted((a, b) => b.length - a.length);
}

export function redact(words: string, secrets: readonly string[]): string {
  let text = words;
  for (const secret of secrets) text = text.replaceAll(secret, REDACTED);
  return text;
}
