/** Probes each engine until it is ready, then runs its health checks. */
import type { OnBackendChange } from "../engines/pool/monitor.ts";
import type { Model, Models, ModelStatus } from "./models.ts";
import { toReport } from "./probing.ts";
import { withDeadline } from "../streams/follow-signal.ts";
import { sleep } from "../streams/timers.ts";

export interface MonitorOptions {
  /** Timeout of a probe. */
  readonly timeoutMs: number;
  /** Wait after the first failure, doubled after each, up to the maximum. */
  readonly firstWaitMs: number;
  readonly longestWaitMs: number;
  /** Interval of a backend's health checks. */
  readonly healthIntervalMs: number;
  /** Called after the first probe of each model, and whenever the kind of result changes. */
  readonly onStatus: (model: Model, status: ModelStatus) => void;
  /** Called when a backend of a ready model goes down or comes back, or has no health check. */
  readonly onBackend: (model: Model, ...change: Parameters<OnBackendChange>) => void;
  readonly signal: AbortSignal;
}

/** Resolves when the signal is aborted, or when there is no model left to monitor. */
export async function monitorModels(models: Models, options: MonitorOptions): Promise<void> {
  const { healthIntervalMs, onBackend, signal } = options;
  await Promise.all(
    models.all.map(async (model) => {
      await probeModel(model, options);
      await model.watch(healthIntervalMs, signal, (...change) => onBackend(model, ...change));
    }),
  );
}

async function probeModel(model: Model, options: MonitorOptions): Promise<void> {
  const { timeoutMs, longestWaitMs, signal } = options;
  let reported: string | undefined;
  let waitMs = options.firstWaitMs;
  while (!signal.aborted) {
    const status =
      model.status.state === "ready"
        ? model.status
        : await withDeadline(signal, timeoutMs, (limited) => model.probe(limited));
    if (signal.aborted) return;
    const report = toReport(status);
    if (report !== reported) options.onStatus(model, status);
    reported = report;
    if (status.state === "ready") return;
    await sleep(waitMs, signal);
    waitMs = Math.min(waitMs * 2, longestWaitMs);
  }
}
