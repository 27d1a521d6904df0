/**
 * Records turns while somebody listens: the page of the inspector, or capture to files. Each exchange with a client becomes
 * a record, each further turn of the same request one more. Nobody listens: nothing is made, and turns run as if this were
 * not there.
 */
import { consume, createPushStream } from "../../streams/push-stream.ts";
import { type Models, withTurnHook } from "../../models/models.ts";
import type { Turn, TurnEvent } from "../../turn/turn.ts";
import { Exchange, type ExchangeRequest } from "./exchange.ts";
import { RecordBudget, type RecordLimits, RecordMemory } from "./limits.ts";
import { redact } from "./redact.ts";
import { TurnRecording } from "./recording.ts";
import type { TurnRecord } from "./schema.ts";
import { createSources, type Sources } from "./sources.ts";
import { toRecord } from "./to-record.ts";
import { toSummary } from "./summary.ts";
import type { TurnSummary } from "./turn-summary.ts";

export interface Recorder {
  readonly isListening: boolean;
  /** Called when a record begins, changes or is complete. Returns a function that ends this. */
  listen(listener: RecordListener): () => void;
  /** The records that are kept, oldest first. */
  readonly entries: readonly RecordEntry[];
  /** By its number. */
  find(number: number): RecordEntry | undefined;
  /** Forgets all records that are complete. */
  clear(): void;
  /** Undefined: nobody listens. */
  begin(request: ExchangeRequest): OpenExchange | undefined;
  /** Records the turns of these models. */
  watchModels(models: Models): Models;
  /** Told where reasoning was found. */
  readonly noteSource: Sources["note"];
}

export type RecordListener = (entry: RecordEntry) => void;

export interface RecordEntry {
  /** Counts from 1; unique in this process, unlike ids, which clients choose. */
  readonly number: number;
  readonly isComplete: boolean;
  summary(): TurnSummary;
  /** Made when it is asked for, as far as the turn has come. */
  record(): TurnRecord;
}

/** The exchange of a request that is being answered. */
export interface OpenExchange {
  respond(status: number, headers: Headers): void;
  respondWith(body: string): void;
  /** Server-sent events, or messages of a WebSocket. */
  readonly noteEvents: (text: string) => void;
  refused(reason: string): void;
  /** The answer has been written, or the client has left. Idempotent. */
  end(): void;
}

export interface RecorderOptions {
  readonly limits: RecordLimits;
  /** Whether texts and ids may be kept. */
  readonly keepsContent: boolean;
  /** Version of the package. */
  readonly gateway: string;
  readonly now: () => Date;
  /** Milliseconds; only differences are used. */
  readonly clock: () => number;
}

export function createRecorder(options: RecorderOptions): Recorder {
  return new TurnRecorder(options);
}

class TurnRecorder implements Recorder {
  readonly #options: RecorderOptions;
  readonly #listeners = new Set<RecordListener>();
  readonly #open = new Map<string, Running>();
  readonly #memory: RecordMemory;
  readonly #sources = createSources();
  #kept: Entry[] = [];
  #count = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#memory = new RecordMemory(options.limits.maxTotalBytes, () => this.#dropOldest());
  }

  get isListening(): boolean {
    return this.#listeners.size > 0;
  }

  get entries(): readonly RecordEntry[] {
    return this.#kept;
  }

  readonly noteSource: Sources["note"] = (tenant, text, source) => {
    if (this.isListening) this.#sources.note(tenant, text, source);
  };

  listen(listener: RecordListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  find(number: number): RecordEntry | undefined {
    return this.#kept.find((entry) => entry.number === number);
  }

  clear(): void {
    for (const entry of this.#kept) if (entry.isComplete) entry.release();
    this.#kept = this.#kept.filter((entry) => !entry.isComplete);
  }

  begin(request: ExchangeRequest): OpenExchange | undefined {
    if (!this.isListening) return undefined;
    const { clock, now } = this.#options;
    const started = clock();
    const sinceStart = () => Math.round((clock() - started) * 10) / 10;
    const budget = this.#createBudget();
    const exchange = new Exchange(request, now(), budget, sinceStart);
    const key = keyOf(request.tenant, request.id);
    const running: Running = { exchange, budget, sinceStart, turns: 0, first: undefined };
    running.first = this.#add({
      id: request.id,
      at: exchange.at,
      tenant: request.tenant,
      budget,
      exchange,
    });
    // A client may send an id again before its first request has ended: its turns then belong to the first one.
    const isFirst = !this.#open.has(key);
    if (isFirst) this.#open.set(key, running);
    let hasEnded = false;
    return {
      respond: (status, headers) => {
        exchange.respond(status, headers);
        if (running.first) this.#tell(running.first);
      },
      respondWith: (body) => exchange.respondWith(body),
      noteEvents: exchange.noteEvents,
      refused: (reason) => {
        exchange.error = reason;
      },
      end: () => {
        if (hasEnded) return;
        hasEnded = true;
        if (isFirst) this.#open.delete(key);
        running.first?.exchangeEnded();
        if (running.first) this.#tell(running.first);
      },
    };
  }

  watchModels(models: Models): Models {
    return withTurnHook(models, (model, turn, signal, run) => {
      if (!this.isListening) return run(turn, signal);
      return createPushStream<TurnEvent>(async (consumer) => {
        const { entry, recording } = this.#beginTurn(turn, model.id);
        try {
          await consume(run(turn, signal, recording.note), (event) => {
            recording.noteEvent(event);
            return consumer(event);
          });
          recording.noteFailure({ outcome: "cancelled", error: undefined });
        } catch (error) {
          recording.noteFailure({ outcome: signal.aborted ? "cancelled" : "failed", error });
          throw error;
        } finally {
          entry.turnEnded();
          this.#tell(entry);
        }
      });
    });
  }

  #beginTurn(turn: Turn, model: string) {
    const running = this.#open.get(keyOf(turn.tenant, turn.id));
    const { clock, now } = this.#options;
    const started = clock();
    const sinceStart = running?.sinceStart ?? (() => Math.round((clock() - started) * 10) / 10);
    const isFirst = running !== undefined && running.turns === 0;
    if (running) running.turns += 1;
    const entry =
      (isFirst ? running.first : undefined) ??
      this.#add({
        id: running && running.turns > 1 ? `${turn.id}-${running.turns}` : turn.id,
        at: running?.exchange.at ?? now(),
        tenant: turn.tenant,
        budget: this.#createBudget(),
        exchange: running?.exchange,
      });
    const recording = entry.beginTurn(model, sinceStart);
    this.#tell(entry);
    return { entry, recording };
  }

  #createBudget(): RecordBudget {
    return new RecordBudget(this.#options.limits.maxRecordBytes, this.#memory);
  }

  #add(begun: Begun): Entry {
    const entry = new Entry(++this.#count, begun, this.#options, this.#sources);
    this.#kept.push(entry);
    if (this.#kept.length > this.#options.limits.maxRecords) this.#dropOldest();
    return entry;
  }

  #dropOldest(): boolean {
    const index = this.#kept.findIndex((entry) => entry.isComplete);
    const [dropped] = index < 0 ? [] : this.#kept.splice(index, 1);
    dropped?.release();
    return dropped !== undefined;
  }

  #tell(entry: Entry): void {
    for (const listener of this.#listeners) listener(entry);
  }
}

interface Running {
  readonly exchange: Exchange;
  readonly budget: RecordBudget;
  readonly sinceStart: () => number;
  turns: number;
  first: Entry | undefined;
}

interface Begun {
  readonly id: string;
  readonly at: Date;
  readonly tenant: string;
  readonly budget: RecordBudget;
  readonly exchange: Exchange | undefined;
}

class Entry implements RecordEntry {
  readonly number: number;
  #begun: Begun;
  readonly #options: RecorderOptions;
  readonly #sources: Sources;
  #model: string | undefined;
  #recording: TurnRecording | undefined;
  #isTurnOver = true;
  #isExchangeOver: boolean;
  /** Made once where content is not kept. */
  #redacted: { readonly record: TurnRecord; readonly summary: TurnSummary } | undefined;

  constructor(number: number, begun: Begun, options: RecorderOptions, sources: Sources) {
    this.number = number;
    this.#begun = begun;
    this.#options = options;
    this.#sources = sources;
    this.#isExchangeOver = begun.exchange === undefined;
  }

  get isComplete(): boolean {
    return this.#isTurnOver && this.#isExchangeOver;
  }

  beginTurn(model: string, sinceStart: () => number): TurnRecording {
    this.#model = model;
    this.#isTurnOver = false;
    this.#recording = new TurnRecording(this.#begun.budget, sinceStart);
    return this.#recording;
  }

  turnEnded(): void {
    this.#isTurnOver = true;
    this.#settle();
  }

  exchangeEnded(): void {
    this.#isExchangeOver = true;
    this.#settle();
  }

  release(): void {
    this.#begun.budget.release();
  }

  summary(): TurnSummary {
    return this.#redacted?.summary ?? toSummary(this.#input(), this.#options.keepsContent);
  }

  record(): TurnRecord {
    if (this.#redacted) return this.#redacted.record;
    const record = toRecord(this.#input());
    return this.#options.keepsContent ? record : redact(record);
  }

  #settle(): void {
    if (this.#options.keepsContent || !this.isComplete) return;
    this.#redacted = { record: this.record(), summary: this.summary() };
    this.#recording = undefined;
    this.#begun = { ...this.#begun, exchange: undefined };
  }

  #input() {
    return {
      ...this.#begun,
      gateway: this.#options.gateway,
      model: this.#model,
      recording: this.#recording,
      findSource: this.#sources.find,
    };
  }
}

function keyOf(tenant: string, id: string): string {
  return `${tenant}\n${id}`;
}
