/** Work that outlasts its request. */
import type { Context } from "hono";

/**
 * Workers cancel pending work, even the release of connections, when a request ends or its WebSocket closes, unless the
 * work is passed to `waitUntil`. Other runtimes do not need this.
 */
export function getWaitUntil(c: Context): (work: Promise<void>) => void {
  try {
    const { executionCtx } = c;
    return (work) => executionCtx.waitUntil(work);
  } catch {
    // Hono throws if there is no execution context.
    return () => {};
  }
}
