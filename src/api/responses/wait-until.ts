/** Work that goes on when its request is over. */
import type { Context } from "hono";

/**
 * Workers drop what is in flight when a request ends or its WebSocket closes, letting go of connections included, unless
 * they are asked to wait. Elsewhere the process goes on anyway.
 */
export function waitUntil(c: Context, work: Promise<void>): void {
  try {
    c.executionCtx.waitUntil(work);
  } catch {
    // Hono throws where there is no such context.
  }
}
