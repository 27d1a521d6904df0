/** Refuses request bodies that are too large. */
import type { MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { ApiEnv } from "../client.ts";
import { RequestError } from "../errors.ts";

/** A larger body fails with a {@link RequestError} of status 413. */
export function limitBody(maxBytes: number): MiddlewareHandler<ApiEnv> {
  const refuse = () => {
    throw new RequestError(`The request body is larger than ${maxBytes} bytes.`, {
      status: 413,
      errorType: "payload_too_large",
    });
  };
  // Hono's middleware touches the body stream even when the length is announced, which makes reading slow on Node.
  const limitUnannounced = bodyLimit({ maxSize: maxBytes, onError: refuse });
  return (c, next) => {
    const length = c.req.header("content-length");
    if (length === undefined || c.req.header("transfer-encoding") !== undefined) {
      return limitUnannounced(c, next);
    }
    if (Number(length) > maxBytes) refuse();
    return next();
  };
}
