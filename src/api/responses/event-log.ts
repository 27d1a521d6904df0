/**
 * The events of responses made in the background, for clients that come back for them, to this gateway or to another
 * one behind the same store. A store cannot append, so they are kept in pieces, numbered from 0.
 */
import * as z from "zod";
import { type Store, storeKey } from "../../store/store.ts";
import type { ResponseEvent } from "./to-events.ts";

export interface EventLog {
  write(tenant: string, id: string, piece: number, events: readonly ResponseEvent[]): Promise<void>;
  /** Undefined: it is not written yet, or kept no longer. */
  read(tenant: string, id: string, piece: number): Promise<readonly ResponseEvent[] | undefined>;
}

const storedEvents = z.lazy(() => z.array(z.object({ type: z.string(), json: z.string() })));

export function createEventLog(store: Store, ttlSeconds: number): EventLog {
  return {
    async write(tenant, id, piece, events) {
      const key = await pieceKey(tenant, id, piece);
      await store.set(key, JSON.stringify(events), ttlSeconds);
    },
    async read(tenant, id, piece) {
      const text = await store.get(await pieceKey(tenant, id, piece));
      return text === undefined ? undefined : storedEvents.safeParse(JSON.parse(text)).data;
    },
  };
}

function pieceKey(tenant: string, id: string, piece: number): Promise<string> {
  return storeKey("response-events", tenant, id, String(piece));
}
