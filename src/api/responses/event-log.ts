/**
 * The stored events of background responses, which clients can follow through any gateway with the same store. A store
 * cannot append, so they are written in pieces, numbered from 0.
 */
import * as z from "zod";
import { createEntries, type EntryDeps } from "../../store/entries.ts";
import { StoreError } from "../../store/store-error.ts";
import type { ResponseEvent } from "./to-events.ts";

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
