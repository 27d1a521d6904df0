/** Counts every request, and logs it when its response has ended. */
import type { Context, MiddlewareHandler } from "hono";
import { routePath } from "hono/route";
import { toClientName } from "../../telemetry/client-name.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Meters } from "../../telemetry/observe-models.ts";
import type { ApiEnv, SentResponse } from "../request/client.ts";
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
    const fields = {
      id: c.get("requestId"),
      method: c.req.method,
      route,
      status,
      ms: now() - started,
      tenant: c.get("client")?.tenant,
      client: toClientName(c.req.header("user-agent")),
      // Other failures are logged with their turn or on their own.
      reason: c.error instanceof RequestError ? c.error.reason : undefined,
    };
    const level = isMinor(c, route) ? "debug" : "info";
    const write = (sent?: SentResponse) => {
      log[level]("request", {
        ...fields,
        ...(sent && { sentMs: now() - started, bytes: sent.bytes }),
        ...(sent?.isComplete === false && { clientLeft: true }),
      });
    };
    // A connection that was upgraded is no longer that of a response. Tests pass no bindings.
    const isUpgrade = c.req.header("upgrade") !== undefined;
    const afterResponse = isUpgrade ? undefined : afterResponseOf(c.env);
    if (afterResponse === undefined) write();
    else afterResponse(write);
  };
}

function afterResponseOf(env: ApiEnv["Bindings"] | undefined) {
  return env?.afterResponse;
}

/** Requests of probes, and those of pages and preflights, which have no client, unless they fail. */
function isMinor(c: Context<ApiEnv>, route: string): boolean {
  if (POLLED.has(route)) return true;
  const { status } = c.res;
  return c.get("client") === undefined && (status < 400 || status === CLIENT_LEFT);
}
