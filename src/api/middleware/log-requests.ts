/** Counts and logs every request. */
import type { MiddlewareHandler } from "hono";
import { routePath } from "hono/route";
import type { Log } from "../../telemetry/log.ts";
import type { Meters } from "../../telemetry/observe-models.ts";
import type { ApiEnv } from "../request/client.ts";
import { RequestError } from "../errors.ts";

export interface RecordDeps {
  readonly log: Log;
  readonly meters: Meters;
  readonly now: () => number;
}

/**
 * The status of a request whose client has disconnected, in the log and the metrics, as in nginx. No client sees it.
 */
export const CLIENT_LEFT = 499;

/** Requested every few seconds by load balancers and scrapers: logged at `debug` only. */
const POLLED = new Set(["/health", "/ready", "/metrics"]);

export function logRequests({ log, meters, now }: RecordDeps): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    const started = now();
    await next();
    const { status } = c.res;
    // The route's pattern instead of the path, which can contain anything. It ends with * where only middleware matched.
    const pattern = routePath(c, -1);
    const route = pattern.endsWith("*") ? "unknown" : pattern;
    meters.requests.add({ route, status: String(status) });
    const isMinor = POLLED.has(route) || status === CLIENT_LEFT;
    log[isMinor ? "debug" : "info"]("request", {
      id: c.get("requestId"),
      method: c.req.method,
      route,
      status,
      ms: now() - started,
      tenant: c.get("client")?.tenant,
      // Other failures are logged with their turn or on their own.
      reason: c.error instanceof RequestError ? c.error.reason : undefined,
    });
  };
}
