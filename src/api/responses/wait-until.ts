/** Work that outlasts its request. */
import type { Context } from "hono";

/**
 * Workers cancel pending work, even releasing connections, when a request ends or its WebSocket closes, unless it is passed
 * to `waitUntil`. Other runtimes need nothing.
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
