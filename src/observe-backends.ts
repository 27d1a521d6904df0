/** The state of the backends as Prometheus sees it. Read when it is asked for: nothing is counted twice. */
import type { BackendState } from "./engines/backend.ts";
import type { Labels, Registry } from "./metrics.ts";
import type { Models } from "./turn/models.ts";

export function readBackends(models: Models, registry: Registry): void {
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
    "harmony_gateway_backend_completions_under_way",
    "Completions a backend is working on.",
    "gauge",
    () => ofBackends(({ inFlight }) => [[{}, inFlight]]),
  );
  registry.readings(
    "harmony_gateway_backend_completions_total",
    "Completions by backend and by how they ended; those nobody waited for are left out.",
    "counter",
    () =>
      ofBackends(({ succeeded, failed }) => [
        [{ outcome: "succeeded" }, succeeded],
        [{ outcome: "failed" }, failed],
      ]),
  );
  registry.readings(
    "harmony_gateway_completions_queued",
    "Completions that wait for a backend with room.",
    "gauge",
    () => models.all.flatMap(({ id, pool }) => (pool ? [[{ model: id }, pool.queued]] : [])),
  );
}
