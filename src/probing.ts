/** Asking engines what they are, again and again until they say so. */
import type { Model, Models, ModelStatus } from "./turn/models.ts";

export interface ProbingOptions {
  /** Longest time an engine is given to answer. */
  readonly timeoutMs: number;
  /** Wait after the first failure; doubled after each, up to the longest. */
  readonly firstWaitMs: number;
  readonly longestWaitMs: number;
  /** Called after the first answer of each model, and whenever another kind of answer follows. */
  readonly onChange: (model: Model, status: ModelStatus) => void;
  readonly signal: AbortSignal;
}

/** Resolves when all models are ready, or the signal is aborted. */
export async function probeUntilReady(models: Models, options: ProbingOptions): Promise<void> {
  await Promise.all(models.all.map((model) => probeModel(model, options)));
}

async function probeModel(model: Model, options: ProbingOptions): Promise<void> {
  const { timeoutMs, longestWaitMs, signal } = options;
  let reported: string | undefined;
  let waitMs = options.firstWaitMs;
  while (!signal.aborted) {
    const status = await model.probe(AbortSignal.any([AbortSignal.timeout(timeoutMs), signal]));
    if (signal.aborted) return;
    const report = status.state === "unavailable" ? status.reason : status.state;
    if (report !== reported) options.onChange(model, status);
    reported = report;
    if (status.state === "ready") return;
    await wait(waitMs, signal);
    waitMs = Math.min(waitMs * 2, longestWaitMs);
  }
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}
