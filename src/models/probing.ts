/** Probes engines on requests, for runtimes without background work: on Workers, and inside other programs. */
import type { Model, Models, ModelStatus } from "./models.ts";

const PROBE_AGAIN_MS = 30_000;

export interface ProbingOptions {
  readonly timeoutMs: number;
  /** Called after the first probe of each model, and when the kind of result changes. */
  readonly onStatus: (model: Model, status: ModelStatus) => void;
}

/** Probes at the first call, and then at most every {@link PROBE_AGAIN_MS} until all engines are ready. Never rejects. */
export function createProbing(
  models: Models,
  { timeoutMs, onStatus }: ProbingOptions,
): () => Promise<void> {
  const reported = new Map<Model, string>();
  let nextAt = -Infinity;

  async function probe(model: Model): Promise<void> {
    const status = await model.probe(AbortSignal.timeout(timeoutMs));
    const report = toReport(status);
    if (report !== reported.get(model)) onStatus(model, status);
    reported.set(model, report);
  }

  return async () => {
    if (performance.now() < nextAt) return;
    nextAt = performance.now() + PROBE_AGAIN_MS;
    const unready = models.all.filter(
      ({ status, pool }) =>
        status.state !== "ready" || pool?.backends.some(({ health }) => health === "down"),
    );
    await Promise.all(unready.map(probe));
  };
}

/** The parts of a result that differ for an operator. */
export function toReport(status: ModelStatus): string {
  return status.state === "unavailable" ? status.reason : status.state;
}
