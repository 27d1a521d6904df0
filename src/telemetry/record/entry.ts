/** A recorded turn: what was collected of it, and its record once somebody asks for it. */
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
  /** Yields to the event loop between slices. */
  readonly pause: Pause;
}

export interface Begun {
  readonly id: string;
  readonly at: Date;
  readonly tenant: string;
  readonly budget: RecordBudget;
  readonly exchange: Exchange | undefined;
  /** Its content is not kept. */
  readonly isPrivate: boolean;
}

/** A record, as its readers see it. */
export interface RecordEntry {
  /** Counts from 1; unique in this process, unlike ids, which clients choose. */
  readonly number: number;
  readonly isComplete: boolean;
  readonly isPinned: boolean;
  summary(): TurnSummary;
  /** Made at each read, as far as the turn has come; in slices, so that other requests do not wait. */
  record(): Promise<TurnRecord>;
  /** What is new of a running turn. Of one that has ended it is the whole record. */
  changes(since: SeenRecord): Promise<RecordChanges>;
}

export class Entry implements RecordEntry {
  readonly number: number;
  /** Kept until it is unpinned, whatever the limits are. */
  isPinned = false;
  #begun: Begun;
  /** Of the exchange, where an earlier turn of it began before. */
  readonly #shared: RecordBudget | undefined;
  readonly #options: EntryOptions;
  #model: string | undefined;
  #recording: TurnRecording | undefined;
  #keepsContent: boolean;
  #isTurnOver = true;
  /** Of a complete turn, made once: each page that lists it asks for it, and long conversations take time to hash. */
  #summary: TurnSummary | undefined;
  /** Made once, if content is not kept. */
  #redacted: Promise<TurnRecord> | undefined;
  /** The parse of a running turn that is being followed, so that each token is parsed once. */
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

  /** When its request was accepted, in milliseconds since 1970. */
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

  /** Its content is not kept, though this was unknown when it began. */
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

  async changes(since: SeenRecord): Promise<RecordChanges> {
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
    // Before the recording is forgotten.
    this.summary();
    const record = this.record();
    this.#redacted = record;
    const forget = (): void => {
      this.#recording = undefined;
      this.#begun = { ...this.#begun, exchange: undefined };
    };
    // A reader of the record gets the error.
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
