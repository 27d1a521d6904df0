/**
 * Liveness and readiness: `/health` succeeds while the process answers, `/ready` while at least one model is ready. Both are
 * for load balancers and need no key.
 */
import { Hono } from "hono";
import type { PoolState } from "../engines/pool.ts";
import type { Model, Models, ModelStatus } from "../models/models.ts";
import type { ApiEnv } from "./client.ts";

export interface HealthOptions {
  /** Include why an engine is not ready. The reason can name internal hosts. */
  readonly showReasons: boolean;
  /** Timeout of a probe. */
  readonly probeTimeoutMs: number;
  /** Aborted when the gateway shuts down: it is alive, but takes no more requests. */
  readonly closing: AbortSignal;
}

export function healthRoutes(models: Models, options: HealthOptions): Hono<ApiEnv> {
  const routes = new Hono<ApiEnv>();
  routes.get("/health", (c) => c.json({ status: "ok" }));
  routes.get("/ready", async (c) => {
    if (options.closing.aborted) return c.json({ status: "shutting_down" }, 503);
    const states = await Promise.all(
      models.all.map(async (model) => {
        return toState(model, await currentStatus(model, options.probeTimeoutMs), options);
      }),
    );
    const ready = states.some((each) => each.state === "ready");
    return c.json({ status: ready ? "ready" : "unavailable", models: states }, ready ? 200 : 503);
  });
  return routes;
}

/**
 * The last status of a ready model is used, unless all its backends have failed since. Any other model is probed again;
 * concurrent requests share one probe.
 */
function currentStatus(model: Model, timeoutMs: number): ModelStatus | Promise<ModelStatus> {
  const isFailing =
    model.pool?.backends.every(({ health }) => health === "down" || health === "degraded") ?? false;
  if (model.status.state === "ready" && !isFailing) return model.status;
  let asking = underway.get(model);
  if (asking === undefined) {
    asking = model.probe(AbortSignal.timeout(timeoutMs)).finally(() => underway.delete(model));
    underway.set(model, asking);
  }
  return asking;
}

const underway = new WeakMap<Model, Promise<ModelStatus>>();

function toState(model: Model, status: ModelStatus, options: HealthOptions) {
  return {
    id: model.id,
    state: status.state,
    ...(status.state === "unavailable" && options.showReasons && { reason: status.reason }),
    ...(model.pool && toPoolFields(model.pool, options)),
  };
}

function toPoolFields({ queued, backends }: PoolState, { showReasons }: HealthOptions) {
  return {
    queued,
    backends: backends.map(({ id, engine, health, reason, inFlight, succeeded, failed }) => ({
      id,
      engine,
      health,
      ...(reason !== undefined && showReasons && { reason }),
      in_flight: inFlight,
      succeeded,
      failed,
    })),
  };
}
