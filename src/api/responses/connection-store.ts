/**
 * The responses a WebSocket connection can continue: all stored ones and, while it is open, its own latest one even with
 * `store: false`.
 */
import { RequestError } from "../errors.ts";
import type { ByteLease } from "../request/byte-budget.ts";
import type { ResponseStore, StoredResponse } from "./response-store.ts";
import { sizeOf } from "./stored-reads.ts";

export interface ConnectionStore extends ResponseStore {
  /** Forgets the connection's own response, if it has this id. */
  evict(id: string): void;
  /** The connection has ended. */
  close(): void;
}

/** @param room for the connection's own response. */
export function createConnectionStore(stored: ResponseStore, room: ByteLease): ConnectionStore {
  /** Its input includes its whole history, which is stored nowhere else. */
  let own: StoredResponse | undefined;
  let isClosed = false;

  /** Where there is no room for it, its client has to send the whole history, as it does on a new connection. */
  function hold(entry: StoredResponse | undefined): void {
    own = undefined;
    if (entry === undefined || isClosed) return room.release();
    try {
      room.resize(sizeOf(entry));
      own = entry;
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      room.release();
    }
  }

  return {
    async put(tenant, entry, options) {
      // A response that continues an unstored one must contain its whole history.
      const isAlone = !options.store || entry.ancestors.includes(own?.response.id ?? "");
      const whole = isAlone
        ? { ...entry, input: [...options.earlier, ...entry.input], ancestors: [] }
        : entry;
      hold(options.store ? undefined : whole);
      await stored.put(tenant, whole, options);
    },
    async get(tenant, id) {
      return own?.response.id === id ? own : stored.get(tenant, id);
    },
    async getMany(tenant, ids) {
      const found = await stored.getMany(
        tenant,
        ids.filter((id) => id !== own?.response.id),
      );
      return own !== undefined && ids.includes(own.response.id)
        ? new Map([...found, [own.response.id, own]])
        : found;
    },
    delete: (tenant, id) => stored.delete(tenant, id),
    ownItem(itemId) {
      const items = own === undefined ? [] : [...own.input, ...own.response.output];
      const item = items.find((each) => each["id"] === itemId);
      return item && { item, isPrivate: own?.isPrivate ?? false };
    },
    evict(id) {
      if (own?.response.id === id) hold(undefined);
    },
    close() {
      isClosed = true;
      hold(undefined);
    },
  };
}
