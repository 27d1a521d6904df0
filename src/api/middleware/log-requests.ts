/** Gives each request an id and a span, counts it, and logs it when its response has ended. */
import type { Context, MiddlewareHandler } from "hono";
import { routePath } from "hono/route";
import { toClientName } from "../../telemetry/client-name.ts";
import type { Audit, AuditedRequest } from "../../telemetry/audit.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Meters } from "../../telemetry/meters.ts";
import type { ApiEnv, Ending, SentResponse } from "../request/client.ts";
import { EngineError } from "../../engines/engine-error.ts";
import { describeError, RequestError } from "../errors.ts";
import { traceRequest } from "../../telemetry/tracing/request-span.ts";
import { hasTracer } from "../../telemetry/tracing/tracer.ts";

interface RecordDeps {
  readonly log: Log;
  readonly meters: Meters;
  readonly now: () => number;
  /** Absent: nothing is audited. */
  readonly audit?: Audit | undefined;
}

/** The status of a request whose client has disconnected, in the log and the metrics, as in nginx. It is never sent. */
export const CLIENT_LEFT = 499;

/**
 * Routes that load balancers, scrapers and open pages request every few seconds: logged at `debug` only, and not
 * audited.
 */
const POLLED = new Set(["/health", "/ready", "/metrics", "/inspect/api/engines"]);

export function logRequests({ log, meters, now, audit }: RecordDeps): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    const started = now();
    const endAudit = audit?.beginRequest(c.get("requestId"));
    const ending: Ending = {};
    c.set("ending", ending);
    await next();
    const { status } = c.res;
    if (status !== CLIENT_LEFT) ending.error ??= c.error;
    // The log has the route's pattern instead of the path, which can contain anything. The pattern ends with * if only
    // middleware matched.
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
    };
    const level = isMinor(c, route) ? "debug" : "info";
    const audited = endAudit && !POLLED.has(route) ? toAudited(c, fields) : undefined;
    const write = (sent?: SentResponse) => {
      const { error } = ending;
      const errorType = error ? describeError(error).errorType : null;
      endAudit?.(audited && { ...audited, error: errorType, ms: now() - started });
      log[level]("request", {
        ...fields,
        // Other failures are logged with their turn or on their own.
        reason: toReason(error),
        ...(sent && { sentMs: now() - started, bytes: sent.bytes }),
        ...(sent?.isComplete === false && { clientLeft: true }),
      });
    };
    // An upgraded connection no longer belongs to a response. Tests pass no bindings.
    const isUpgrade = c.req.header("upgrade") !== undefined;
    const afterResponse = isUpgrade ? undefined : afterResponseOf(c.env);
    if (afterResponse === undefined) write();
    else afterResponse(write);
  };
}

/** The reason for refusing an invalid request, or a key that has reached its limit. */
function toReason(error: unknown): string | undefined {
  if (error instanceof RequestError) return error.reason;
  return error instanceof EngineError && error.kind === "tenant-limit" ? error.message : undefined;
}

/** The fields of an audit line that do not come from turns. */
function toAudited(
  c: Context<ApiEnv>,
  fields: Pick<AuditedRequest, "method" | "route" | "status" | "ms"> & {
    readonly tenant: string | undefined;
    readonly client: string | undefined;
  },
): Omit<AuditedRequest, "error"> {
  const { method, route, status, ms, tenant, client } = fields;
  return {
    key: tenant ?? null,
    client: client ?? null,
    method,
    route,
    status,
    effort: c.res.headers.get("x-harmony-reasoning-effort"),
    reasoning: c.res.headers.get("x-harmony-cot"),
    // The counts may grow while the response is sent.
    media: c.get("media"),
    ms,
  };
}

function afterResponseOf(env: ApiEnv["Bindings"] | undefined) {
  return env?.afterResponse;
}

/** Whether a request is a probe, or a successful request without a client, such as a page or a preflight. */
function isMinor(c: Context<ApiEnv>, route: string): boolean {
  if (POLLED.has(route)) return true;
  const { status } = c.res;
  return c.get("client") === undefined && (status < 400 || status === CLIENT_LEFT);
}

/**
 * The request's id: the client's own if it is safe in a log line and a header, else a new one.
 *
 * @param randomId returns unguessable letters and digits.
 */
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

const UNTRACED = new Set(["/health", "/ready", "/metrics"]);

/** Creates a span for each request, except those that probes and scrapers send every few seconds. */
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
