/** One event of a stream, parsed and checked: the slow and careful way in. */
import type { ZodType } from "zod";

import { findServerError } from "./server-errors.ts";
import type { Server } from "./server.ts";

/**
 * An event as `schema` sees it. Throws the server's error when the event carries one, which any event
 * of any stream may, and a plain error when it is not what it should be.
 */
export function readFrame<T>(event: string, schema: ZodType<T>, server: Server): T {
  const frame = parse(event);
  const complaint = findServerError(frame);
  if (complaint !== undefined) throw server.toError(complaint);
  const result = schema.safeParse(frame);
  // Errors do not quote the event: what the model wrote is in it.
  if (!result.success) throw new Error(`unexpected event of ${event.length} characters`);
  return result.data;
}

function parse(event: string): unknown {
  try {
    return JSON.parse(event);
  } catch {
    throw new Error(`an event of ${event.length} characters that is not JSON`);
  }
}
