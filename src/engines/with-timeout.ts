/** A timeout for a promise, by an injected clock. */
import { followSignal } from "../streams/follow-signal.ts";
import type { Clock } from "./clock.ts";
import { EngineError } from "./engine-error.ts";

export interface Timeout {
  readonly ms: number;
  readonly clock: Clock;
  /** The subject of the error's message. Default: it. */
  readonly subject?: string;
}

/** Rejects with a `timeout` error after so many milliseconds, even if `ask` ignores its signal. */
export async function withTimeout<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  { ms, clock, subject = "It" }: Timeout,
  signal: AbortSignal,
): Promise<T> {
  const abort = new AbortController();
  const late = Promise.withResolvers<never>();
  const cancel = clock.after(ms, () => {
    const error = new EngineError("timeout", `${subject} did not answer within ${ms} ms.`);
    abort.abort(error);
    late.reject(error);
  });
  const release = followSignal(abort, signal);
  try {
    return await Promise.race([ask(abort.signal), late.promise]);
  } finally {
    cancel();
    release();
  }
}
