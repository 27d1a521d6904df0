/**
 * Probes engines until they are ready. Where code runs between requests, a monitor probes them, and then runs their health
 * checks; on Workers and inside other programs, requests start the probes.
 */
import type { OnBackendChange } from "../engines/pool/monitor.ts";
import { withDeadline } from "../streams/follow-signal.ts";
import { sleep } from "../streams/timers.ts";
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

interface MonitorOptions {
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

/** The parts of a result that differ for an operator. */
function toReport(status: ModelStatus): string {
  return status.state === "unavailable" ? status.reason : status.state;
}
