/** Reads one stream event: parsed and validated, or only its ids. */
import type { ZodType } from "zod";

import type { TokenId } from "../tokenizer/tokenizer.ts";
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

/**
 * Reads `1,2,3]` from `at` on and adds the ids to `into`, without parsing the event: `JSON.parse` would be a twentieth of the
 * cost of a streamed token. Returns the position of the closing bracket, or -1, with nothing added, for any other text.
 */
export function readIdList(text: string, at: number, into: TokenId[]): number {
  const begin = into.length;
  let id = NONE;
  for (let i = at; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code >= DIGIT_0 && code <= DIGIT_9) id = (id === NONE ? 0 : id * 10) + (code - DIGIT_0);
    else {
      if (id !== NONE) into.push(id);
      if (code === CLOSING_BRACKET) return i;
      if (code !== COMMA) break;
      id = NONE;
    }
  }
  into.length = begin;
  return -1;
}

const NONE = -1;
const DIGIT_0 = 48;
const DIGIT_9 = 57;
const COMMA = 44;
const CLOSING_BRACKET = 93;
