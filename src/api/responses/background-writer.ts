/**
 * Writes a background response and its events to the store while it runs: the events in pieces, a heartbeat, and the response
 * itself, which may be long, when it has changed.
 *
 * The caller makes one write of each kind at a time, so that an older state never overwrites a newer one. What could not be
 * written is written with the next attempt.
 */
import * as z from "zod";
import type { ResponsesContext } from "./context.ts";
import type { PreparedResponse } from "./prepare.ts";
import { ignoreStoreFailure, isInFlight } from "./response-store.ts";
import { keepResponse } from "./run.ts";
import type { ResponseEvent } from "./to-events.ts";
import { createEntries, type EntryDeps } from "../../store/entries.ts";
import { StoreError } from "../../store/store-error.ts";

export interface BackgroundWriter {
  /** How many pieces of events are stored. */
  pieces(): number;
  /** Events to be written with the next pieces. */
  add(events: readonly ResponseEvent[]): void;
  /** Writes one piece of the events that wait. Rejects when the store fails; the events stay for the next attempt. */
  writePiece(): Promise<void>;
  /** Writes its first events, then the response as queued. Rejects when the store fails. */
  accept(): Promise<void>;
  /**
   * Writes the remaining events, then the response as ended. Deletes its events if the response was deleted. Rejects when the
   * store fails.
   */
  end(): Promise<void>;
  /**
   * Aborts the response if a cancellation was requested. Otherwise writes a heartbeat, and the response if it has changed.
   * Rejects when the store fails.
   */
  heartbeat(abort: AbortController): Promise<void>;
}

export interface BackgroundWriterDeps {
  readonly log: EventLog;
  /** Whether a cancellation was requested, at this gateway or at another one. */
  readonly isCancelled: () => Promise<boolean>;
  /** Stores a sign of life. */
  readonly beat: () => Promise<void>;
}

export function createBackgroundWriter(
  prepared: PreparedResponse,
  context: ResponsesContext,
  { log, isCancelled, beat }: BackgroundWriterDeps,
): BackgroundWriter {
  const { tenant } = prepared.caller.client;
  let waiting: ResponseEvent[] = [];
  /** Once a write was tried, its piece stays as it is: the store may have it, and a follower may have read it. */
  let piece: readonly ResponseEvent[] | undefined;
  let pieces = 0;
  let written = 0;
  /** What of the response was last written. */
  let kept = "";

  async function writePiece(): Promise<void> {
    if (waiting.length === 0) return;
    piece ??= firstPiece(waiting, Math.min(MAX_PIECE, context.store.maxEntryBytes / GROWTH));
    await log.write(tenant, prepared.id, pieces, piece);
    waiting = waiting.slice(piece.length);
    pieces += 1;
    written += piece.length;
    piece = undefined;
  }

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) await writePiece();
  }

  /** Through another gateway, which has cancelled it first. Written again, it could be read again. */
  async function wasDeleted(): Promise<boolean> {
    return (
      (await isCancelled()) && (await context.responses.get(tenant, prepared.id)) === undefined
    );
  }

  return {
    pieces: () => pieces,
    add(events) {
      waiting.push(...events);
    },
    writePiece,
    async accept() {
      await writeAll();
      await keepResponse(prepared, context);
    },
    async end() {
      if (await wasDeleted()) return log.delete(tenant, prepared.id, pieces);
      await writeAll();
      await keepResponse(prepared, context, written);
    },
    async heartbeat(abort) {
      const isStopped = await isCancelled().catch((error: unknown) => {
        // Whether the store can be read says nothing about writing.
        ignoreStoreFailure(error);
        return false;
      });
      if (isStopped) return abort.abort();
      const { builder } = prepared;
      const { status } = builder.response();
      if (!isInFlight({ status })) return;
      await beat();
      const current = `${status} ${builder.output.length}`;
      if (current === kept) return;
      await keepResponse(prepared, context);
      kept = current;
    },
  };
}

/** Maximum characters per entry: after an outage many events may be prepared. */
const MAX_PIECE = 1_000_000;
/** Stored, a character takes at most six bytes more: it is escaped twice. */
const GROWTH = 8;

/** A copy, because more events are added while it is written. */
function firstPiece(events: readonly ResponseEvent[], max: number): readonly ResponseEvent[] {
  let size = 0;
  const end = events.findIndex(({ json }) => (size += json.length) > max);
  return end === -1 ? [...events] : events.slice(0, Math.max(end, 1));
}

/**
 * The stored events of background responses, which clients can follow through any gateway with the same store. A store
 * cannot append, so they are written in pieces, numbered from 0.
 */
export interface EventLog {
  /** Rejects with a `StoreError` when it was not stored. */
  write(tenant: string, id: string, piece: number, events: readonly ResponseEvent[]): Promise<void>;
  /** Undefined: not written yet, or expired. */
  read(tenant: string, id: string, piece: number): Promise<readonly ResponseEvent[] | undefined>;
  /** Deletes this many pieces, the last one first: by default those that are found. Rejects when the store fails. */
  delete(tenant: string, id: string, pieces?: number): Promise<void>;
}

const storedEvents = z.lazy(() => z.array(z.object({ type: z.string(), json: z.string() })));

export function createEventLog(deps: EntryDeps): EventLog {
  const entries = createEntries<z.ZodType<readonly ResponseEvent[]>>(
    "response-events",
    [storedEvents],
    deps,
  );
  const read: EventLog["read"] = (tenant, id, piece) => entries.get(tenant, id, String(piece));
  return {
    async write(tenant, id, piece, events) {
      // Without what is known of events that have just been written.
      const kept = events.map(({ type, json }) => ({ type, json }));
      const isKept = await entries.set(kept, tenant, id, String(piece));
      if (!isKept) throw new StoreError("too-large", "The events are too large to be stored.");
    },
    read,
    async delete(tenant, id, pieces) {
      let end = pieces ?? 0;
      if (pieces === undefined) {
        while ((await read(tenant, id, end)) !== undefined) end += 1;
      }
      for (let piece = end - 1; piece >= 0; piece--)
        await entries.delete(tenant, id, String(piece));
    },
  };
}
