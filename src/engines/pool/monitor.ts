/** Periodic health checks, independent for each backend. */
import { Wait } from "../../streams/waiting.ts";
import type { Clock } from "../clock.ts";
import type { Backend, BackendState } from "./backend.ts";

/** @param what `missing-check`: a health check turned out to be missing, or was found after all. */
export type OnBackendChange = (state: BackendState, what: "health" | "missing-check") => void;

export interface BackendMonitorOptions {
  readonly everyMs: number;
  readonly clock: Clock;
  /** Called after each check, for any result. */
  readonly onChecked: () => void;
  /** Called when the health differs from the previous check. */
  readonly onChange: OnBackendChange;
}

/** Checks backends. Resolves when the signal aborts. */
export async function monitorBackends(
  backends: readonly Backend[],
  options: BackendMonitorOptions,
  signal: AbortSignal,
): Promise<void> {
  // A backend that hangs must not delay the checks of the others.
  await Promise.all(backends.map((backend) => monitor(backend, options, signal)));
}

/** The interval after a first failed check, which detects an outage sooner. */
const RECHECK_MS = 1_000;

async function monitor(
  backend: Backend,
  { everyMs, clock, onChecked, onChange }: BackendMonitorOptions,
  signal: AbortSignal,
): Promise<void> {
  let { health, missingCheck } = backend.state;
  while (!signal.aborted) {
    const isInDoubt = backend.hasFailedCheck && !backend.isDown;
    const waitMs = backend.msUntilAsked(isInDoubt ? Math.min(everyMs, RECHECK_MS) : everyMs);
    if (waitMs > 0) await pause(clock, waitMs, signal);
    if (signal.aborted) return;
    await ask(backend, signal);
    if (signal.aborted) return;
    backend.noteAsked();
    onChecked();
    const { state } = backend;
    if (state.health !== health) onChange(state, "health");
    if (state.missingCheck !== missingCheck) onChange(state, "missing-check");
    ({ health, missingCheck } = state);
  }
}

/**
 * Never throws: the result is in the backend's state. A backend that is down must complete a request to be up again: a probe, so
 * that no client's request is at risk.
 */
async function ask(backend: Backend, signal: AbortSignal): Promise<void> {
  if (backend.needsProbe) await backend.probe(signal).catch(() => undefined);
  else await backend.check(signal);
}

/** Waits until the time is over, or the signal aborts. */
async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  const wait = new Wait<void>(signal);
  wait.limit(clock.after(ms, () => wait.grant()));
  await wait.promise.catch(() => undefined);
}
