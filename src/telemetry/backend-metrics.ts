/** The state of the backends as Prometheus metrics. Read at each scrape, so nothing is counted twice. */
import type { TenantState } from "../engines/pool/admission.ts";
import type { BackendState } from "../engines/pool/backend.ts";
import type { Labels, Registry } from "./metrics.ts";
import type { Models } from "../models/models.ts";

export function registerBackendMetrics(models: Models, registry: Registry): void {
  const ofBackends = (read: (backend: BackendState) => readonly (readonly [Labels, number])[]) =>
    models.all.flatMap((model) =>
      (model.pool?.backends ?? []).flatMap((backend) =>
        read(backend).map(
          ([labels, value]) =>
            [{ model: model.id, backend: backend.id, ...labels }, value] as const,
        ),
      ),
    );

  registry.readings(
    "harmony_gateway_backend_up",
    "1 unless the backend is known to be down.",
    "gauge",
    () => ofBackends(({ health }) => [[{}, health === "down" ? 0 : 1]]),
  );
  registry.readings(
    "harmony_gateway_backend_completions_in_flight",
    "In-flight completions of a backend.",
    "gauge",
    () => ofBackends(({ inFlight }) => [[{}, inFlight]]),
  );
  registry.readings(
    "harmony_gateway_backend_completions_total",
    "Completions by backend and outcome, without abandoned ones.",
    "counter",
    () =>
      ofBackends(({ succeeded, failed }) => [
        [{ outcome: "succeeded" }, succeeded],
        [{ outcome: "failed" }, failed],
      ]),
  );
  registry.readings(
    "harmony_gateway_completions_queued",
    "Completions queued for a backend.",
    "gauge",
    () => models.all.flatMap(({ id, pool }) => (pool ? [[{ model: id }, pool.queued]] : [])),
  );
  registry.readings(
    "harmony_gateway_backend_ejections_total",
    "How often failed requests have opened a backend's circuit breaker.",
    "counter",
    () => ofBackends(({ ejections }) => [[{}, ejections]]),
  );
  registry.readings(
    "harmony_gateway_completion_retries_total",
    "Completions that were retried on another backend.",
    "counter",
    () => models.all.flatMap(({ id, pool }) => (pool ? [[{ model: id }, pool.retries]] : [])),
  );
  // A tenant's name may be personal data. Its number among the configured keys is enough for the operator.
  const ofTenants = (read: (tenant: TenantState) => number) => () =>
    models.all.flatMap(({ id, pool }) =>
      (pool?.tenants ?? []).map(
        (tenant) => [{ model: id, tenant: String(tenant.index) }, read(tenant)] as const,
      ),
    );
  registry.readings(
    "harmony_gateway_tenant_completions_queued",
    "Completions of a tenant queued for a backend.",
    "gauge",
    ofTenants(({ queued }) => queued),
  );
  registry.readings(
    "harmony_gateway_tenant_completions_in_flight",
    "In-flight completions of a tenant.",
    "gauge",
    ofTenants(({ inFlight }) => inFlight),
  );
  registry.readings(
    "harmony_gateway_tenant_queue_waits_total",
    "Completions of a tenant that have left the queue, admitted or refused.",
    "counter",
    ofTenants(({ waits }) => waits),
  );
  registry.readings(
    "harmony_gateway_tenant_queue_wait_seconds_total",
    "Total time a tenant's completions spent in the queue.",
    "counter",
    ofTenants(({ waitedMs }) => waitedMs / 1_000),
  );
}
