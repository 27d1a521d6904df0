/** Parses and validates one stream event: the general path, used where a reader's fast path does not apply. */
import type { ZodType } from "zod";

import { findServerError } from "./server-errors.ts";
import type { Server } from "./server.ts";

/**
 * Parses an event by `schema`. Throws the server's error as an `EngineError` if the event reports one, which any
 * event of any stream may, and a plain error if it is malformed.
 */
export function readFrame<T>(event: string, schema: ZodType<T>, server: Server): T {
  const frame = parse(event);
  const serverError = findServerError(frame);
  if (serverError !== undefined) throw server.toError(serverError);
  const result = schema.safeParse(frame);
  // The error does not quote the event: it contains model output.
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
