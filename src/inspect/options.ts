/** What the inspector is given. */
import type { Models } from "../models/models.ts";
import type { PageAssets } from "../pages/assets.ts";
import type { RecordEntry } from "../telemetry/record/entry.ts";
import type { Recorder } from "../telemetry/record/recorder.ts";
import type { TurnRecord } from "../telemetry/record/schema.ts";
import type { AccessOptions } from "./access.ts";

export interface InspectorOptions extends AccessOptions {
  readonly recorder: Recorder;
  readonly assets: PageAssets;
  /** What bounds the turns that are kept, for the page to say. */
  readonly keeps: { readonly turns: number; readonly bytes: number; readonly seconds: number };
  /** Writes a complete turn into the folder for captures. Resolves with the file's path. Absent: there is no folder. */
  readonly capture?: (entry: RecordEntry) => Promise<string>;
  /** Runs a recorded turn again. Resolves with the number of the new one; undefined if it has been dropped already. */
  readonly runAgain: (record: TurnRecord, signal: AbortSignal) => Promise<number | undefined>;
  readonly models: () => Models;
  /** The audit file's sums of each key. Absent: there is no audit. */
  readonly keyUses?: () => Promise<KeyUses>;
  /** The chat is at `/`: the page links to it. */
  readonly hasChat: boolean;
  /** Other processes listen on the same port, whose turns are not here. */
  readonly isOneOfSeveral: boolean;
  /** Clients need a key. */
  readonly hasKeys: boolean;
  readonly version: string;
  /** Aborted when the gateway shuts down, so that it does not wait for open pages. */
  readonly closing: AbortSignal;
}

/** The sums of each key, also from before the gateway was started. */
export interface KeyUses {
  /** The oldest request that is counted. */
  readonly since: string;
  /** Keys, of which the busiest are listed. */
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
  /** Milliseconds. */
  readonly p95: number | null;
  /** The newest request. */
  readonly at: string;
}
