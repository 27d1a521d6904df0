/** Probes engines beside requests, where nothing runs between them: on Workers, and inside other programs. */
import type { Models } from "./models.ts";

const PROBE_AGAIN_MS = 30_000;

/** Probes at the first call, and then at most every {@link PROBE_AGAIN_MS} until all engines are ready. Never rejects. */
export function createProbing(models: Models, timeoutMs: number): () => Promise<void> {
  let nextAt = -Infinity;
  return async () => {
    if (performance.now() < nextAt) return;
    nextAt = performance.now() + PROBE_AGAIN_MS;
    const unready = models.all.filter(
      ({ status, pool }) =>
        status.state !== "ready" || pool?.backends.some(({ health }) => health === "down"),
    );
    await Promise.all(unready.map((model) => model.probe(AbortSignal.timeout(timeoutMs))));
  };
}
