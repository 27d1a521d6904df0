/** A timeout for a promise, by an injected clock. */
import type { Clock } from "../clock.ts";
import { EngineError } from "../engine-error.ts";

/** Rejects with a `timeout` error after `ms`, even if `ask` ignores its signal. */
export async function withTimeout<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  ms: number,
  signal: AbortSignal,
  clock: Clock,
): Promise<T> {
  const abort = new AbortController();
  const late = Promise.withResolvers<never>();
  const cancel = clock.after(ms, () => {
    const error = new EngineError("timeout", `It did not answer within ${ms} ms.`);
    abort.abort(error);
    late.reject(error);
  });
  try {
    return await Promise.race([ask(AbortSignal.any([signal, abort.signal])), late.promise]);
  } finally {
    cancel();
  }
}
