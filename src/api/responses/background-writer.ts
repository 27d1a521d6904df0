/**
 * Writes a background response and its events to the store while it runs: the events in pieces, a heartbeat, and the response
 * itself, which may be long, when it has changed.
 *
 * The caller makes one write of each kind at a time, so that an older state never overwrites a newer one. Data of a
 * failed write is written with the next attempt.
 */
import * as z from "zod";
import type { ResponsesContext } from "./context.ts";
import type { PreparedResponse } from "./prepare.ts";
import { ignoreStoreFailure } from "../errors.ts";
import { isInFlight } from "./response-store.ts";
import { keepResponse } from "./run.ts";
import type { ResponseEvent } from "./to-events.ts";
import { createEntries, type Entries, type EntryDeps } from "../../store/entries.ts";
import { StoreError } from "../../store/store-error.ts";

export interface BackgroundWriterDeps {
  readonly log: EventLog;
  /** Whether a cancellation was requested, at this gateway or at another one. */
  readonly isCancelled: () => Promise<boolean>;
  /** Stores a heartbeat. */
  readonly beat: () => Promise<void>;
}

export class BackgroundWriter {
  readonly #prepared: PreparedResponse;
  readonly #context: ResponsesContext;
  readonly #deps: BackgroundWriterDeps;
  #waiting: ResponseEvent[] = [];
  /**
   * The piece of the last write attempt. A retry must not change it: the store may have the piece, and a follower may
   * have read it.
   */
  #piece: readonly ResponseEvent[] | undefined;
  #pieces = 0;
  #written = 0;
  /** The version of the response that was last written. */
  #kept = "";

  constructor(prepared: PreparedResponse, context: ResponsesContext, deps: BackgroundWriterDeps) {
    this.#prepared = prepared;
    this.#context = context;
    this.#deps = deps;
  }

  /** The number of stored pieces of events. */
  get pieces(): number {
    return this.#pieces;
  }

  /** Events to be written with the next pieces. */
  add(events: readonly ResponseEvent[]): void {
    this.#waiting.push(...events);
  }

  /** Writes one piece of the waiting events. Rejects when the store fails; the events stay for the next attempt. */
  async writePiece(): Promise<void> {
    if (this.#waiting.length === 0) return;
    const max = Math.min(MAX_PIECE, this.#context.store.maxEntryBytes / GROWTH);
    const piece = (this.#piece ??= firstPiece(this.#waiting, max));
    await this.#deps.log.write(this.#tenant, this.#prepared.id, this.#pieces, piece);
    this.#waiting = this.#waiting.slice(piece.length);
    this.#pieces += 1;
    this.#written += piece.length;
    this.#piece = undefined;
  }

  /** Writes the first events, then the queued response. Rejects when the store fails. */
  async accept(): Promise<void> {
    await this.#writeAll();
    await keepResponse(this.#prepared, this.#context);
  }

  /**
   * Writes the remaining events, then the ended response. If the response was deleted, its events are deleted instead.
   * Rejects when the store fails.
   */
  async end(): Promise<void> {
    if (await this.#wasDeleted()) {
      return this.#deps.log.delete(this.#tenant, this.#prepared.id, this.#pieces);
    }
    await this.#writeAll();
    await keepResponse(this.#prepared, this.#context, this.#written);
  }

  /**
   * Aborts the response if a cancellation was requested. Otherwise writes a heartbeat, and the response if it has changed.
   * Rejects when the store fails.
   */
  async heartbeat(abort: AbortController): Promise<void> {
    const isStopped = await this.#deps.isCancelled().catch((error: unknown) => {
      // A store that cannot be read may still accept writes.
      ignoreStoreFailure(error);
      return false;
    });
    if (isStopped) return abort.abort();
    const { builder } = this.#prepared;
    const { status } = builder.response();
    if (!isInFlight({ status })) return;
    await this.#deps.beat();
    const current = `${status} ${builder.output.length}`;
    if (current === this.#kept) return;
    await keepResponse(this.#prepared, this.#context);
    this.#kept = current;
  }

  get #tenant(): string {
    return this.#prepared.caller.client.tenant;
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) await this.writePiece();
  }

  /** Whether another gateway has cancelled and deleted the response. Writing it again would make it readable again. */
  async #wasDeleted(): Promise<boolean> {
    if (!(await this.#deps.isCancelled())) return false;
    return (await this.#context.responses.get(this.#tenant, this.#prepared.id)) === undefined;
  }
}

/** Maximum characters per entry: after an outage many events may be prepared. */
const MAX_PIECE = 1_000_000;
/** Maximum growth of a character in the store, where it is escaped twice. */
const GROWTH = 8;

/** The first events that fit, as a copy, because more events are added during the write. */
function firstPiece(events: readonly ResponseEvent[], max: number): readonly ResponseEvent[] {
  let size = 0;
  const end = events.findIndex(({ json }) => (size += json.length) > max);
  return end === -1 ? [...events] : events.slice(0, Math.max(end, 1));
}

const storedEvents = z.lazy(() => z.array(z.object({ type: z.string(), json: z.string() })));

/**
 * The stored events of background responses, which clients can follow through any gateway with the same store. A store
 * cannot append, so they are written in pieces, numbered from 0.
 */
export class EventLog {
  readonly #entries: Entries<readonly ResponseEvent[]>;

  constructor(deps: EntryDeps) {
    this.#entries = createEntries<z.ZodType<readonly ResponseEvent[]>>(
      "response-events",
      [storedEvents],
      deps,
    );
  }

  /** Rejects with a `StoreError` if the piece was not stored. */
  async write(
    tenant: string,
    id: string,
    piece: number,
    events: readonly ResponseEvent[],
  ): Promise<void> {
    // Only type and JSON are stored, without members that exist for new events only.
    const kept = events.map(({ type, json }) => ({ type, json }));
    const isKept = await this.#entries.set(kept, tenant, id, String(piece));
    if (!isKept) throw new StoreError("too-large", "The events are too large to be stored.");
  }

  /** Undefined: the piece is not written yet, or has expired. */
  read(tenant: string, id: string, piece: number): Promise<readonly ResponseEvent[] | undefined> {
    return this.#entries.get(tenant, id, String(piece));
  }

  /** Deletes this many pieces, the last one first: by default all that are found. Rejects when the store fails. */
  async delete(tenant: string, id: string, pieces?: number): Promise<void> {
    let end = pieces ?? 0;
    if (pieces === undefined) {
      while ((await this.read(tenant, id, end)) !== undefined) end += 1;
    }
    for (let piece = end - 1; piece >= 0; piece--) {
      await this.#entries.delete(tenant, id, String(piece));
    }
  }
}
