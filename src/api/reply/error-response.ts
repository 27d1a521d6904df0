/** Turns an error into a response in the envelope of an API. */
import type { ErrorEnvelope, FailedRequest } from "../api.ts";
import { describeError, type ErrorReader } from "../errors.ts";

/** Used before a response has begun. Afterwards an error is part of the stream. */
export function toErrorResponse(
  error: unknown,
  toEnvelope: ErrorEnvelope,
  request: FailedRequest,
  reader?: ErrorReader,
): Response {
  const description = describeError(error, reader);
  const { status, body, headers } = toEnvelope(description, request);
  const response = Response.json(body, { status, headers: { ...headers } });
  if (description.retryAfter !== undefined) {
    response.headers.set("retry-after", String(Math.ceil(description.retryAfter)));
  }
  if (status === 401) response.headers.set("www-authenticate", "Bearer");
  return response;
}
