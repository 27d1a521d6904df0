/** Health checks: every backend is asked again and again, at its own pace. */
import type { Clock } from "../clock.ts";
import type { Backend, BackendState } from "./backend.ts";

export interface MonitorOptions {
  readonly everyMs: number;
  readonly clock: Clock;
  /** After each check, whatever it has found. */
  readonly onChecked: () => void;
  /** When its health is not what it was after the check before. */
  readonly onChange: (state: BackendState) => void;
}

/** Resolves when the signal aborts. */
export async function monitorBackends(
  backends: readonly Backend[],
  options: MonitorOptions,
  signal: AbortSignal,
): Promise<void> {
  // One that hangs must not keep the others from being asked.
  await Promise.all(backends.map((backend) => monitor(backend, options, signal)));
}

/** After a failed check, so that it does not take two intervals to see that a backend is gone. */
const RECHECK_MS = 1_000;

async function monitor(
  backend: Backend,
  { everyMs, clock, onChecked, onChange }: MonitorOptions,
  signal: AbortSignal,
): Promise<void> {
  let { health } = backend.state;
  while (!signal.aborted) {
    await ask(backend, signal);
    if (signal.aborted) return;
    onChecked();
    const { state } = backend;
    if (state.health !== health) onChange(state);
    ({ health } = state);
    const isInDoubt = backend.hasFailedCheck && !backend.isDown;
    await pause(clock, isInDoubt ? Math.min(everyMs, RECHECK_MS) : everyMs, signal);
  }
}

/**
 * Never throws: what was found is the backend's new state. One that is down has to complete something to be up again,
 * and better a probe of ours than the request of a client.
 */
async function ask(backend: Backend, signal: AbortSignal): Promise<void> {
  if (backend.needsProbe) await backend.probe(signal).catch(() => undefined);
  else await backend.check(signal);
}

function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      cancel();
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const cancel = clock.after(ms, finish);
    signal.addEventListener("abort", finish, { once: true });
    if (signal.aborted) finish();
  });
}
