/** The position in a running turn's record up to which a reader has it. */
import type { RecordedPart, TurnRecord } from "./schema.ts";

/** The known length of each list of the record. */
export interface RecordPosition {
  /** Whether the prompt and the conversation are known. */
  readonly prompt: boolean;
  readonly decisions: number;
  /** Index of the last call, and the number of its reads. */
  readonly call: number;
  readonly read: number;
  readonly recoveries: number;
  readonly events: number;
}

export interface SeenRecord extends RecordPosition {
  readonly parts: number;
  /** Characters of the last part. */
  readonly characters: number;
}

export const NOTHING_SEEN: SeenRecord = {
  prompt: false,
  decisions: 0,
  call: 0,
  read: 0,
  recoveries: 0,
  events: 0,
  parts: 0,
  characters: 0,
};

/** The changes of a running turn's record since it was last read. */
export interface RecordChanges {
  /** The new parts. The first call's reads and the first part's text continue the known ones. */
  readonly record: TurnRecord;
  /** The position for the next read. Undefined: the turn has ended, and the record is complete. */
  readonly seen: SeenRecord | undefined;
}

/** Removes known parts, and the known text of the last of them. */
export function withoutSeen(record: TurnRecord, since: SeenRecord): TurnRecord {
  const from = Math.max(0, since.parts - 1);
  const parts = record.parts.slice(from).map((part, index): RecordedPart => {
    if (index > 0 || since.parts === 0 || typeof part.text !== "string") return part;
    return { ...part, text: part.text.slice(since.characters) };
  });
  return { ...record, parts };
}

/** @param record record before {@link withoutSeen} and redaction */
export function seenOf(record: TurnRecord, since: SeenRecord): SeenRecord {
  const text = record.parts.at(-1)?.text ?? "";
  const call = Math.max(0, since.call + record.calls.length - 1);
  const reads = record.calls.at(-1)?.reads.length ?? 0;
  return {
    prompt: since.prompt || record.prompt !== null,
    decisions: since.decisions + record.decisions.length,
    call,
    read: reads + (call === since.call ? since.read : 0),
    recoveries: since.recoveries + record.recoveries.length,
    events: since.events + (record.answer?.events?.length ?? 0),
    parts: record.parts.length,
    characters: typeof text === "string" ? text.length : 0,
  };
}
