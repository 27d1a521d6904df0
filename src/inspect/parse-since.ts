/** Parses the position up to which a page has a turn. */
import * as z from "zod";
import type { SeenRecord } from "../telemetry/record/seen-record.ts";

const count = z.int().min(0);
const seen = z.object({
  prompt: z.boolean(),
  decisions: count,
  call: count,
  read: count,
  recoveries: count,
  events: count,
  parts: count,
  characters: count,
});

/** An invalid position counts as none, and the whole record is sent. */
export function parseSince(text: string | undefined): SeenRecord | undefined {
  if (text === undefined) return undefined;
  try {
    return seen.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
