/** How much of a running turn's record a reader already has. */

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
  /** Of the last part. */
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
