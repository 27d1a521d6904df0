/** The data that the gateway sends to the page. */
import type { toEngineRows } from "../../src/inspect/engines.ts";
import type { TurnRecord } from "../../src/telemetry/record/schema.ts";
import type { SeenRecord } from "../../src/telemetry/record/seen-record.ts";
import type { TurnSummary } from "../../src/telemetry/record/turn-summary.ts";

export type { KeyUse, KeyUses } from "../../src/inspect/options.ts";
export type { Difference } from "../../src/inspect/first-difference.ts";

export interface Row extends TurnSummary {
  readonly number: number;
  readonly isComplete: boolean;
  /** The turn is kept until it is unpinned. */
  readonly isPinned: boolean;
}

/** Text of a token by its id, or bytes that are only part of a character. */
export type Tokens = Readonly<Record<number, string | readonly number[]>>;

export interface LoadedTurn {
  readonly row: Row;
  readonly record: TurnRecord;
  readonly tokens: Tokens;
  /** The position up to which a running turn is loaded. */
  readonly seen?: SeenRecord;
}

export interface Overview {
  readonly version: string;
  readonly hasKeys: boolean;
  /** Other processes listen on the same port, whose turns are not listed. */
  readonly isOneOfSeveral: boolean;
  /** Turns can be written into a folder of the gateway. */
  readonly hasCapture: boolean;
  /** Limits of the turns that the gateway keeps. */
  readonly keeps: { readonly turns: number; readonly bytes: number; readonly seconds: number };
  readonly models: readonly string[];
  readonly turns: readonly Row[];
}

/** Changes of the list. */
export type News =
  | { readonly rows: readonly Row[]; readonly dropped: readonly number[] }
  /** There were too many changes: the page must load the list again. */
  | { readonly isBehind: true };

export type EngineRow = ReturnType<typeof toEngineRows>[number];
