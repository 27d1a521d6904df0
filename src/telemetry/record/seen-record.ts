/** What somebody who looks at a running turn has of its record. */

/** How far each list of the record goes. */
export interface RecordPosition {
  /** The prompt, and what it was made from. */
  readonly prompt: boolean;
  readonly decisions: number;
  /** Index of the last call, and how far its reads go. */
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
