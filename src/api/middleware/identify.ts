/** The request's id: the client's own if it is safe in a log line and a header, else a new one. */
import type { MiddlewareHandler } from "hono";
import type { ApiEnv } from "../request/client.ts";

/** @param randomId Letters and digits, unguessable. */
export function identify(randomId: () => string): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    const sent = c.req.header("x-request-id") ?? "";
    const id = /^[\w.:-]{1,128}$/.test(sent) ? sent : `req_${randomId()}`;
    c.set("requestId", id);
    await next();
    // Not `c.header`, which creates a new response: 20 µs per request.
    if (c.res !== c.get("identified")) c.res.headers.set("x-request-id", id);
  };
}
