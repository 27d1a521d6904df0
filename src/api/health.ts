/**
 * Liveness and readiness: `/health` succeeds while the process answers, `/ready` while at least one model is
 * ready. Both are for load balancers and need no key.
 *
 * `/ready` reports cached state and sends no request to an engine: anyone may call it as often as they like,
 * and it answers immediately even if an engine hangs. It contains no text from engines, which may quote a
 * prompt or name a host.
 */
import { Hono } from "hono";
import type { BackendState } from "../engines/pool/backend.ts";
import type { Model, Models } from "../models/models.ts";
import type { ApiEnv } from "./request/client.ts";
import type { Readiness } from "./reply/reply-schema.ts";

export interface HealthOptions {
  /** Engines are probed from the start, so an engine without a result is not ready yet. */
  readonly monitored: boolean;
  /** Aborted when the gateway shuts down: it is alive, but accepts no more requests. */
  readonly closing: AbortSignal;
  readonly now: () => number;
  /** Returns a sentence if the store works but will lose its entries. */
  readonly storeProblem: () => string | undefined;
}

export type ModelReadiness = NonNullable<Readiness["models"]>[number];

export function healthRoutes(models: Models, options: HealthOptions): Hono<ApiEnv> {
  const routes = new Hono<ApiEnv>();
  routes.get("/health", (c) => c.json({ status: "ok" }));
  routes.get("/ready", (c) => {
    if (options.closing.aborted) return c.json({ status: "shutting_down" }, 503);
    const now = options.now();
    const states = models.all.map((model) => toState(model, now));
    const ready = states.some(
      ({ state }) => state === "ready" || (state === "unknown" && !options.monitored),
    );
    const problem = options.storeProblem();
    const report: Readiness = {
      status: ready ? "ready" : "unavailable",
      ...(problem !== undefined && { warnings: [problem] }),
      models: states,
    };
    return c.json(report, ready ? 200 : 503);
  });
  return routes;
}

function toState(model: Model, now: number): ModelReadiness {
  const { id, pool } = model;
  if (pool === undefined) return { id, state: readinessOf(model) };
  const { queued, backends } = pool;
  return {
    id,
    state: readinessOf(model),
    queued,
    backends: backends.map((backend) => toBackend(backend, now)),
  };
}

/**
 * `unknown` until an engine has answered a probe or failed. Backend state is current, since requests update it between
 * two probes.
 */
export function readinessOf({ pool, status }: Model): ModelReadiness["state"] {
  if (pool === undefined) return status.state;
  const { backends } = pool;
  if (backends.every(({ health }) => health === "down")) return "unavailable";
  return backends.some(({ health }) => health === "up" || health === "degraded")
    ? "ready"
    : "unknown";
}

function toBackend(backend: BackendState, now: number) {
  const { id, engine, health, lastFailure, inFlight, succeeded, failed } = backend;
  return {
    id,
    engine,
    health,
    ...(lastFailure && {
      last_failure: {
        kind: lastFailure.kind,
        at: new Date(now - lastFailure.msAgo).toISOString(),
      },
    }),
    in_flight: inFlight,
    succeeded,
    failed,
  };
}
