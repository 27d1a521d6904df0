/** A recorded turn: its collected data, and its record, which is built on demand. */
import type { Pause } from "../../streams/slices.ts";
import {
  NOTHING_SEEN,
  type RecordChanges,
  seenOf,
  type SeenRecord,
  withoutSeen,
} from "./seen-record.ts";
import type { Exchange } from "./exchange.ts";
import { type Elapsed, TurnRecording } from "./recording.ts";
import type { RecordBudget } from "./limits.ts";
import { ParsedAgain } from "./parse-again.ts";
import type { RecordInput } from "./record-input.ts";
import { redactRecord } from "./redact.ts";
import type { TurnRecord } from "./schema.ts";
import { runSliced } from "./build-slices.ts";
import type { FindMessageSource } from "./sources.ts";
import { toSummary } from "./summary.ts";
import { toRecord } from "./to-record.ts";
import type { TurnSummary } from "./turn-summary.ts";

export interface EntryOptions {
  /** Whether texts and ids may be kept. */
  readonly keepsContent: boolean;
  /** Version of the package. */
  readonly gateway: string;
  readonly findSource: FindMessageSource;
  /** Pauses between slices, so that the event loop can run. */
  readonly pause: Pause;
}

export interface Begun {
  readonly id: string;
  readonly at: Date;
  readonly tenant: string;
  readonly budget: RecordBudget;
  readonly exchange: Exchange | undefined;
  /** The content of the turn is not kept. */
  readonly isPrivate: boolean;
}

/** A record for its readers. */
export interface RecordEntry {
  /** Number of the record, from 1; unique in this process, unlike ids, which clients choose. */
  readonly number: number;
  readonly isComplete: boolean;
  readonly isPinned: boolean;
  summary(): TurnSummary;
  /** The record up to now, built at each read in slices, so that other requests do not wait. */
  record(): Promise<TurnRecord>;
  /** The new parts of a running turn, or the whole record of a completed one. */
  changes(since?: SeenRecord): Promise<RecordChanges>;
}

export class Entry implements RecordEntry {
  readonly number: number;
  /** The record is kept until it is unpinned, regardless of limits. */
  isPinned = false;
  #begun: Begun;
  /** Budget of the exchange, if an earlier turn of it began before. */
  readonly #shared: RecordBudget | undefined;
  readonly #options: EntryOptions;
  #model: string | undefined;
  #recording: TurnRecording | undefined;
  #keepsContent: boolean;
  #isTurnOver = true;
  /**
   * Summary of a complete turn, computed once: each page that lists the turn requests it, and long conversations take time to
   * hash.
   */
  #summary: TurnSummary | undefined;
  /** The redacted record, built once, if content is not kept. */
  #redacted: Promise<TurnRecord> | undefined;
  /** The parse of a running turn with readers, so that each token is parsed once. */
  #parsed: ParsedAgain | undefined;
  /** Serializes readers of a running turn, because they share {@link #parsed}. */
  #looking: Promise<unknown> = Promise.resolve();

  constructor(number: number, begun: Begun, options: EntryOptions) {
    this.number = number;
    this.#begun = begun;
    const { exchange, budget } = begun;
    this.#shared = exchange?.budget === budget ? undefined : exchange?.budget;
    this.#shared?.hold();
    this.#options = options;
    this.#keepsContent = options.keepsContent && !begun.isPrivate;
  }

  /** Time at which the request was accepted, in milliseconds since 1970. */
  get at(): number {
    return this.#begun.at.getTime();
  }

  /** Estimated size in memory. */
  get bytes(): number {
    return this.#begun.budget.used + (this.#shared?.used ?? 0);
  }

  get isComplete(): boolean {
    return this.#isTurnOver && (this.#begun.exchange?.hasEnded ?? true);
  }

  beginTurn(model: string, elapsed: Elapsed): TurnRecording {
    this.#model = model;
    this.#isTurnOver = false;
    this.#recording = new TurnRecording(this.#begun.budget, elapsed);
    return this.#recording;
  }

  turnEnded(): void {
    this.#isTurnOver = true;
    this.#settle();
  }

  exchangeEnded(): void {
    this.#settle();
  }

  /** Drops the content of a turn that turned out to be private after its start. */
  makePrivate(): void {
    if (!this.#keepsContent) return;
    this.#keepsContent = false;
    this.#summary = undefined;
    this.#settle();
  }

  release(): void {
    this.#begun.budget.release();
    this.#shared?.release();
  }

  summary(): TurnSummary {
    const summary = this.#summary ?? toSummary(this.#input(), this.#keepsContent);
    if (this.isComplete) this.#summary = summary;
    return summary;
  }

  async record(): Promise<TurnRecord> {
    if (this.#redacted) return this.#redacted;
    const parsed = this.#recording && new ParsedAgain(this.#recording);
    const steps = toRecord(this.#input(), parsed, NOTHING_SEEN);
    return this.#toKept(await runSliced(steps, this.#options.pause));
  }

  async changes(since = NOTHING_SEEN): Promise<RecordChanges> {
    const look = this.#looking.then(() => this.#look(since));
    this.#looking = look.catch(() => undefined);
    return look;
  }

  async #look(since: SeenRecord): Promise<RecordChanges> {
    if (this.isComplete) return { record: await this.record(), seen: undefined };
    this.#parsed ??= this.#recording && new ParsedAgain(this.#recording);
    const steps = toRecord(this.#input(), this.#parsed, since);
    const record = await runSliced(steps, this.#options.pause);
    return {
      record: this.#toKept(withoutSeen(record, since)),
      seen: seenOf(record, since),
    };
  }

  #toKept(record: TurnRecord): TurnRecord {
    return this.#keepsContent ? record : redactRecord(record);
  }

  #settle(): void {
    if (!this.isComplete) return;
    this.#parsed = undefined;
    if (this.#keepsContent) return;
    // The summary is computed before the recording is released.
    this.summary();
    const record = this.record();
    this.#redacted = record;
    const forget = (): void => {
      this.#recording = undefined;
      this.#begun = { ...this.#begun, exchange: undefined };
    };
    // The reader of the record handles the error.
    record.then(forget, forget);
  }

  #input(): RecordInput {
    const { gateway, findSource } = this.#options;
    return {
      ...this.#begun,
      gateway,
      model: this.#model,
      recording: this.#recording,
      findSource,
    };
  }
}
