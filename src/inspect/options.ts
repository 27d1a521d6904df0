/** Options of the inspector. */
import type { Models } from "../models/models.ts";
import type { PageAssets } from "../pages/assets.ts";
import type { RecordEntry } from "../telemetry/record/entry.ts";
import type { Recorder } from "../telemetry/record/recorder.ts";
import type { TurnRecord } from "../telemetry/record/schema.ts";
import type { AccessOptions } from "./access.ts";

export interface InspectorOptions extends AccessOptions {
  readonly recorder: Recorder;
  readonly assets: PageAssets;
  /** Limits of the kept turns, for display on the page. */
  readonly keeps: { readonly turns: number; readonly bytes: number; readonly seconds: number };
  /** Writes a complete turn into the folder for captures. Resolves with the file's path. Absent: there is no folder. */
  readonly capture?: (entry: RecordEntry) => Promise<string>;
  /** Runs a recorded turn again. Resolves with the number of the new one. Undefined: it was dropped already. */
  readonly runAgain: (record: TurnRecord, signal: AbortSignal) => Promise<number | undefined>;
  readonly models: () => Models;
  /** The audit file's sums for each key. Absent: the audit is off. */
  readonly keyUses?: () => Promise<KeyUses>;
  /** The page links to the chat at `/`. */
  readonly hasChat: boolean;
  /** Other processes listen on the same port, whose turns are not listed. */
  readonly isOneOfSeveral: boolean;
  /** Clients need a key. */
  readonly hasKeys: boolean;
  readonly version: string;
  /** Aborted when the gateway shuts down, so that it does not wait for open pages. */
  readonly closing: AbortSignal;
}

/** The sums of each key, including the time before the start of the gateway. */
export interface KeyUses {
  /** Time of the oldest counted request. */
  readonly since: string;
  /** Number of keys, of which the busiest are listed. */
  readonly count: number;
  readonly keys: readonly KeyUse[];
}

export interface KeyUse {
  readonly key: string;
  readonly clients: readonly string[];
  readonly requests: number;
  readonly failed: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** 95th percentile in milliseconds. */
  readonly p95: number | null;
  /** Time of the newest request. */
  readonly at: string;
}
