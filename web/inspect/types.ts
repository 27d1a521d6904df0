/** What the gateway sends to the page. */
import type { toEngineRows } from "../../src/inspect/engines.ts";
import type { TurnRecord } from "../../src/telemetry/record/schema.ts";
import type { SeenRecord } from "../../src/telemetry/record/seen-record.ts";
import type { TurnSummary } from "../../src/telemetry/record/turn-summary.ts";

export type { KeyUse, KeyUses } from "../../src/inspect/options.ts";
export type { Difference } from "../../src/inspect/first-difference.ts";

export interface Row extends TurnSummary {
  readonly number: number;
  readonly isComplete: boolean;
  /** Kept until it is unpinned. */
  readonly isPinned: boolean;
}

/** Text of a token by its id, or bytes that are only part of a character. */
export type Tokens = Readonly<Record<number, string | readonly number[]>>;

export interface LoadedTurn {
  readonly row: Row;
  readonly record: TurnRecord;
  readonly tokens: Tokens;
  /** For a running turn: how much of it this is. */
  readonly seen?: SeenRecord;
}

export interface Overview {
  readonly version: string;
  readonly hasKeys: boolean;
  /** Other processes listen on the same port, whose turns are not here. */
  readonly isOneOfSeveral: boolean;
  /** Turns can be written into a folder of the gateway. */
  readonly hasCapture: boolean;
  /** What bounds the turns that the gateway keeps. */
  readonly keeps: { readonly turns: number; readonly bytes: number; readonly seconds: number };
  readonly models: readonly string[];
  readonly turns: readonly Row[];
}

/** What has changed in the list. */
export type News =
  | { readonly rows: readonly Row[]; readonly dropped: readonly number[] }
  /** So much that the list is to be loaded again. */
  | { readonly isBehind: true };

export type EngineRow = ReturnType<typeof toEngineRows>[number];
