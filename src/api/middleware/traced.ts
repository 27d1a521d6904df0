/** A span for every request, but for those that probes and scrapers send every few seconds. */
import type { MiddlewareHandler } from "hono";
import { routePath } from "hono/route";
import { traceRequest } from "../../telemetry/tracing/request-span.ts";
import { hasTracer } from "../../telemetry/tracing/tracer.ts";
import type { ApiEnv } from "../request/client.ts";

const UNTRACED = new Set(["/health", "/ready", "/metrics"]);

export function traced(): MiddlewareHandler<ApiEnv> {
  return (c, next) => {
    if (!hasTracer() || UNTRACED.has(c.req.path)) return next();
    const { method, raw } = c.req;
    return traceRequest({ id: c.get("requestId"), method, headers: raw.headers }, async () => {
      await next();
      const pattern = routePath(c, -1);
      const type = c.res.headers.get("content-type") ?? "";
      return {
        route: pattern.endsWith("*") ? "unknown" : pattern,
        status: c.res.status,
        reasoning: c.res.headers.get("x-harmony-cot") ?? undefined,
        isStream: type.startsWith("text/event-stream"),
      };
    });
  };
}
