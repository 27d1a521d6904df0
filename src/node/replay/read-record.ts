/** Reads the record of a turn from a file. */
import * as z from "zod";
import { parseJson } from "../../engines/untyped-json.ts";
import {
  RECORD_VERSION,
  type RecordedIds,
  type RecordedText,
  type TurnRecord,
  turnRecordSchema,
} from "../../telemetry/record/schema.ts";
import type { TokenId } from "../../tokenizer/index.ts";

const versioned = z.looseObject({ version: z.int(), calls: z.array(z.unknown()) });

/** Undefined: the text is not a record. Throws an `Error` with a sentence for a record that cannot be read. */
export function readRecord(text: string): TurnRecord | undefined {
  if (!text.trimStart().startsWith("{")) return undefined;
  const value = parseJson(text);
  const found = versioned.safeParse(value);
  if (!found.success) return undefined;
  const { version } = found.data;
  if (version > RECORD_VERSION) {
    throw new Error(
      `The record has version ${version}; this harmony-gateway reads up to ${RECORD_VERSION}. Use a newer one.`,
    );
  }
  const read = turnRecordSchema().safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new Error(`The record cannot be read: ${issue?.path.join(".")}: ${issue?.message}.`);
}

/** Returns the text. Throws for a record without content. */
export function contentText(text: RecordedText): string {
  if (typeof text === "string") return text;
  throw new Error(NO_CONTENT);
}

/** Returns the ids. Throws for a record without content. */
export function contentIds(ids: RecordedIds): readonly TokenId[] {
  if (Array.isArray(ids)) return ids;
  throw new Error(NO_CONTENT);
}

const NO_CONTENT =
  "The record was made with recordContent off: without texts and token ids it cannot be replayed.";
