/** The state of the backends as Prometheus metrics. The state is read at each scrape, so there are no separate counts. */
import type { TenantState } from "../engines/pool/admission.ts";
import type { BackendState } from "../engines/pool/backend.ts";
import type { PoolState } from "../engines/pool.ts";
import type { Model, Models } from "../models/models.ts";
import type { Labels, Registry } from "./metrics.ts";

export function registerBackendMetrics(models: Models, registry: Registry): void {
  for (const { name, help, type, read } of READINGS) {
    registry.readings(name, help, type, () => models.all.flatMap(read));
  }
}

type Readings = readonly (readonly [Labels, number])[];

interface Reading {
  readonly name: string;
  readonly help: string;
  readonly type: "gauge" | "counter";
  readonly read: (model: Model) => Readings;
}

const READINGS: readonly Reading[] = [
  {
    name: "harmony_gateway_backend_up",
    help: "1 unless the backend is known to be down.",
    type: "gauge",
    read: ofBackends(({ health }) => [[{}, health === "down" ? 0 : 1]]),
  },
  {
    name: "harmony_gateway_backend_completions_in_flight",
    help: "In-flight completions of a backend.",
    type: "gauge",
    read: ofBackends(({ inFlight }) => [[{}, inFlight]]),
  },
  {
    name: "harmony_gateway_backend_completions_total",
    help: "Completions by backend and outcome, without abandoned ones.",
    type: "counter",
    read: ofBackends(({ succeeded, failed }) => [
      [{ outcome: "succeeded" }, succeeded],
      [{ outcome: "failed" }, failed],
    ]),
  },
  {
    name: "harmony_gateway_completions_queued",
    help: "Completions queued for a backend.",
    type: "gauge",
    read: ofPool(({ queued }) => queued),
  },
  {
    name: "harmony_gateway_backend_ejections_total",
    help: "How often failed requests have opened a backend's circuit breaker.",
    type: "counter",
    read: ofBackends(({ ejections }) => [[{}, ejections]]),
  },
  {
    name: "harmony_gateway_completion_retries_total",
    help: "Completions that were retried on another backend.",
    type: "counter",
    read: ofPool(({ retries }) => retries),
  },
  {
    name: "harmony_gateway_tenant_completions_queued",
    help: "Completions of a tenant queued for a backend.",
    type: "gauge",
    read: ofTenants(({ queued }) => queued),
  },
  {
    name: "harmony_gateway_tenant_completions_in_flight",
    help: "In-flight completions of a tenant.",
    type: "gauge",
    read: ofTenants(({ inFlight }) => inFlight),
  },
  {
    name: "harmony_gateway_tenant_queue_waits_total",
    help: "Completions of a tenant that have left the queue, admitted or refused.",
    type: "counter",
    read: ofTenants(({ waits }) => waits),
  },
  {
    name: "harmony_gateway_tenant_queue_wait_seconds_total",
    help: "Total time a tenant's completions spent in the queue.",
    type: "counter",
    read: ofTenants(({ waitedMs }) => waitedMs / 1_000),
  },
];

function ofBackends(read: (backend: BackendState) => Readings): Reading["read"] {
  return ({ id, pool }) =>
    (pool?.backends ?? []).flatMap((backend) =>
      read(backend).map(
        ([labels, value]) => [{ model: id, backend: backend.id, ...labels }, value] as const,
      ),
    );
}

function ofPool(read: (pool: PoolState) => number): Reading["read"] {
  return ({ id, pool }) => (pool ? [[{ model: id }, read(pool)]] : []);
}

/** Identifies tenants by their number among the configured keys: a tenant's name may be personal data. */
function ofTenants(read: (tenant: TenantState) => number): Reading["read"] {
  return ({ id, pool }) =>
    (pool?.tenants ?? []).map(
      (tenant) => [{ model: id, tenant: String(tenant.index) }, read(tenant)] as const,
    );
}
