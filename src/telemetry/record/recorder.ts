/**
 * Records turns while there are listeners: the page of the inspector, or capture to files. Each exchange with a client becomes a
 * record, each further turn of the request another one. Without listeners no data is collected, and turns run unchanged.
 */
import { createPause, type Pause } from "../../streams/slices.ts";
import type { Turn } from "../../turn/turn.ts";
import { type Elapsed, startElapsed, type TurnRecording } from "./recording.ts";
import { Exchange, type ExchangeRequest } from "./exchange.ts";
import type { RecordLimits } from "./limits.ts";
import type { Begun, Entry, EntryOptions, RecordEntry } from "./entry.ts";
import { KeptRecords } from "./kept-records.ts";
import type { BeginWatch } from "../watch-turns.ts";
import { createSources, type Sources } from "./sources.ts";

export type RecordListener = (entry: RecordEntry) => void;

/** The exchange of a request that is being answered. */
export interface OpenExchange {
  respond(status: number, headers: Headers): void;
  respondWith(body: string): void;
  /** Notes server-sent events, or a message of a WebSocket, when they are written. */
  noteEvents(text: string): void;
  refused(reason: string): void;
  /** Called when the answer is complete, or the client has disconnected. Idempotent. */
  end(): void;
}

export interface RecorderOptions {
  readonly limits: RecordLimits;
  /** Whether texts and ids may be kept. */
  readonly keepsContent: boolean;
  /** Version of the package. */
  readonly gateway: string;
  readonly now: () => Date;
  /** Monotonic time in milliseconds; only differences are used. */
  readonly clock: () => number;
  /** Pauses for the event loop. Default: by a timer, which every runtime has. */
  readonly pause?: Pause;
}

export class Recorder {
  readonly kept: KeptRecords;
  readonly #options: RecorderOptions;
  readonly #listeners = new Set<RecordListener>();
  /**
   * Open exchanges by tenant and id. A client may reuse an id before its first request has ended: turns then belong to the first
   * one.
   */
  readonly #open = new Map<string, Set<Running>>();
  readonly #sources = createSources();
  readonly #entryOptions: EntryOptions;
  /** Running turns with their models, and the tokens of ended ones by model. */
  readonly #running = new Map<TurnRecording, string>();
  readonly #written = new Map<string, number>();

  constructor(options: RecorderOptions) {
    this.#options = options;
    const { keepsContent, gateway, pause = createPause() } = options;
    const { find: findSource } = this.#sources;
    this.#entryOptions = { keepsContent, gateway, pause, findSource };
    this.kept = new KeptRecords(options.limits, options.now, (entry) => this.#tell(entry));
  }

  get isListening(): boolean {
    return this.#listeners.size > 0;
  }

  /** Called with the source of reasoning. */
  readonly noteSource: Sources["note"] = (tenant, text, source) => {
    if (this.isListening) this.#sources.note(tenant, text, source);
  };

  /**
   * Calls the listener when a record begins, changes, is complete, or was dropped. Returns a function that removes the listener.
   */
  listen(listener: RecordListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Tokens that a model has written since recording began, including running turns. */
  writtenBy(model: string): number {
    let tokens = this.#written.get(model) ?? 0;
    for (const [recording, id] of this.#running) if (id === model) tokens += recording.written;
    return tokens;
  }

  /** Undefined: there are no listeners. */
  begin(request: ExchangeRequest): OpenExchange | undefined {
    if (!this.isListening) return undefined;
    const { now, clock } = this.#options;
    const elapsed = startElapsed(clock);
    const budget = this.kept.createBudget();
    const exchange = new Exchange(request, now(), { budget, elapsed });
    const first = this.#add({
      id: request.id,
      at: exchange.at,
      tenant: request.tenant,
      budget,
      exchange,
      isPrivate: request.isPrivate ?? false,
    });
    const running: Running = {
      exchange,
      elapsed,
      turns: 0,
      entries: [first],
      isPrivate: request.isPrivate ?? false,
    };
    const close = this.#openAs(keyOf(request.tenant, request.id), running);
    return {
      respond: (status, headers) => {
        exchange.respond(status, headers);
        this.#tell(first);
      },
      respondWith: (body) => exchange.respondWith(body),
      noteEvents: (text) => exchange.noteEvents(text),
      refused: (reason) => {
        exchange.error = reason;
      },
      end: () => {
        if (exchange.hasEnded) return;
        exchange.hasEnded = true;
        close();
        for (const entry of running.entries) {
          entry.exchangeEnded();
          this.#tell(entry);
        }
      },
    };
  }

  /** Records turns. */
  readonly watchTurn: BeginWatch = (model, turn) => {
    if (!this.isListening) return undefined;
    const { entry, recording } = this.#beginTurn(turn, model.id);
    return {
      onFact: recording.onFact,
      over: (outcome, error) => {
        recording.noteFailure({ outcome, error });
        this.#running.delete(recording);
        this.#written.set(model.id, (this.#written.get(model.id) ?? 0) + recording.written);
        entry.turnEnded();
        this.#tell(entry);
      },
    };
  };

  #beginTurn(turn: Turn, model: string) {
    const open = this.#open.get(keyOf(turn.tenant, turn.id)) ?? [];
    const [running] = open;
    const { now, clock } = this.#options;
    const elapsed = running?.elapsed ?? startElapsed(clock);
    // The turn continues private content. The request that it belongs to, among several with the same id, is unknown.
    if (turn.isPrivate) for (const each of open) makePrivate(each);
    const isFirst = running !== undefined && running.turns === 0;
    if (running) running.turns += 1;
    const entry =
      (isFirst ? running.entries[0] : undefined) ??
      this.#add({
        id: running && running.turns > 1 ? `${turn.id}-${running.turns}` : turn.id,
        at: running?.exchange.at ?? now(),
        tenant: turn.tenant,
        budget: this.kept.createBudget(),
        exchange: running?.exchange,
        isPrivate: running?.isPrivate ?? turn.isPrivate ?? false,
      });
    if (running && !isFirst) running.entries.push(entry);
    const recording = entry.beginTurn(model, elapsed);
    this.#running.set(recording, model);
    this.#tell(entry);
    return { entry, recording };
  }

  /** Adds an open exchange. Returns a function that removes it. */
  #openAs(key: string, running: Running): () => void {
    const open = this.#open.get(key) ?? new Set();
    this.#open.set(key, open.add(running));
    return () => {
      open.delete(running);
      if (open.size === 0) this.#open.delete(key);
    };
  }

  #add(begun: Begun): Entry {
    return this.kept.add(begun, this.#entryOptions);
  }

  #tell(entry: Entry): void {
    for (const listener of this.#listeners) listener(entry);
  }
}

interface Running {
  readonly exchange: Exchange;
  readonly elapsed: Elapsed;
  turns: number;
  isPrivate: boolean;
  /** One entry for each turn, but at least one. */
  readonly entries: Entry[];
}

function makePrivate(running: Running): void {
  if (running.isPrivate) return;
  running.isPrivate = true;
  for (const entry of running.entries) entry.makePrivate();
}

function keyOf(tenant: string, id: string): string {
  return `${tenant}\n${id}`;
}
