/**
 * CORS: limits the web pages that may use the gateway. With keys, any page: it needs a key like any client. Without
 * keys, only local pages, because any other page a user opens could use the gateway on that user's machine unnoticed.
 */
import type { MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import type { Settings } from "../../config/settings.ts";
import { RESPONSE_HEADERS } from "../../telemetry/response-headers.ts";
import type { ApiEnv } from "../request/client.ts";
import { RequestError } from "../errors.ts";

/** Refuses pages of other origins with a {@link RequestError} of status 403 where the gateway has no keys. */
export function webPages(settings: Settings): MiddlewareHandler<ApiEnv> {
  const guarded = settings.keys.length === 0 && !settings.open;
  const allowed = settings.corsOrigins ?? (guarded ? undefined : ["*"]);
  const isAllowed = (origin: string) =>
    allowed === undefined ? isLocal(origin) : allowed.includes("*") || allowed.includes(origin);
  // Without a list of request headers the middleware allows all headers that the page requests: the SDKs send a family
  // of `x-stainless-*`, and OpenRouter's clients `http-referer`, `x-title` and others.
  const allow = cors({
    origin: (origin) => (isAllowed(origin) ? origin : null),
    exposeHeaders: [...RESPONSE_HEADERS],
    maxAge: 86_400,
  });
  return (c, next) => {
    const origin = c.req.header("origin");
    if (origin === undefined) return next();
    if (guarded && !isAllowed(origin)) {
      throw new RequestError(
        `Web pages from ${origin} may not use this gateway. To allow them, add the origin to the setting corsOrigins.`,
        { status: 403 },
      );
    }
    return allow(c, next);
  };
}

function isLocal(origin: string): boolean {
  return /^https?:\/\/(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/.test(origin);
}
