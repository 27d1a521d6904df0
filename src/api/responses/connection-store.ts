/**
 * The responses a WebSocket connection can continue: all stored ones, and its own latest one even if that is not to be
 * stored, for as long as the connection lasts.
 */
import type { ResponseStore, StoredResponse } from "./response-store.ts";

export interface ConnectionStore extends ResponseStore {
  /** Forget the connection's own response, if it is this one. */
  evict(id: string): void;
}

export function createConnectionStore(stored: ResponseStore): ConnectionStore {
  /** With all that came before it in its input: nobody else has it. */
  let own: StoredResponse | undefined;

  return {
    async put(tenant, entry, options) {
      // What continues a response that nobody else has must hold all of it.
      const isAlone = !options.store || entry.ancestors.includes(own?.response.id ?? "");
      const whole = isAlone
        ? { ...entry, input: [...options.earlier, ...entry.input], ancestors: [] }
        : entry;
      own = options.store ? undefined : whole;
      await stored.put(tenant, whole, options);
    },
    async get(tenant, id) {
      return own?.response.id === id ? own : stored.get(tenant, id);
    },
    delete: (tenant, id) => stored.delete(tenant, id),
    ownItem(itemId) {
      const items = own === undefined ? [] : [...own.input, ...own.response.output];
      return items.find((item) => item["id"] === itemId);
    },
    evict(id) {
      if (own?.response.id === id) own = undefined;
    },
  };
}
