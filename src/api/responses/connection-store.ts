/**
 * The responses a WebSocket connection can continue: all stored ones and, while it is open, the latest one of each lane even with
 * `store: false`.
 */
import { RequestError } from "../errors.ts";
import type { ByteLease } from "../request/byte-budget.ts";
import type { ResponseStore, StoredResponse } from "./response-store.ts";
import { sizeOf } from "./stored-reads.ts";

export interface ConnectionStore {
  /** The store for the requests of a lane. Each lane can read the responses of the others. */
  lane(name: string | undefined): ResponseStore;
  /** Drops the connection's own response with this id, if any. */
  evict(id: string): void;
  /** Called when the connection has ended. */
  close(): void;
}

interface OwnResponse {
  readonly entry: StoredResponse;
  readonly bytes: number;
}

/** Maximum number of lanes whose latest response is held. */
const MAX_HELD = 64;

/** @param room budget for the connection's own responses. */
export function createConnectionStore(stored: ResponseStore, room: ByteLease): ConnectionStore {
  /**
   * The latest response of each lane, the oldest first. Its input includes the whole history, which is stored nowhere
   * else.
   */
  const own = new Map<string | undefined, OwnResponse>();
  let isClosed = false;

  const find = (id: string) => own.values().find(({ entry }) => entry.response.id === id)?.entry;

  /**
   * Holds a response if the budget allows. Otherwise its client has to send the whole history, as on a new connection.
   */
  function hold(lane: string | undefined, entry: StoredResponse | undefined): void {
    own.delete(lane);
    if (entry !== undefined && !isClosed) own.set(lane, { entry, bytes: sizeOf(entry) });
    fit();
  }

  /** Drops the oldest responses until the rest is within the budget. */
  function fit(): void {
    let sum = own.values().reduce((before, { bytes }) => before + bytes, 0);
    for (const [lane, { bytes }] of own) {
      if (own.size <= MAX_HELD && hasRoom(sum)) return;
      own.delete(lane);
      sum -= bytes;
    }
    room.release();
  }

  function hasRoom(bytes: number): boolean {
    try {
      room.resize(bytes);
      return true;
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      return false;
    }
  }

  return {
    lane: (name) => ({
      async put(tenant, entry, options) {
        // A response that continues an unstored one must contain its whole history.
        const isAlone = !options.store || entry.ancestors.some((id) => find(id) !== undefined);
        const whole = isAlone
          ? { ...entry, input: [...options.earlier, ...entry.input], ancestors: [] }
          : entry;
        hold(name, options.store ? undefined : whole);
        await stored.put(tenant, whole, options);
      },
      async get(tenant, id) {
        return find(id) ?? stored.get(tenant, id);
      },
      async getMany(tenant, ids) {
        const found = ids.flatMap((id) => find(id) ?? []);
        const held = new Map(found.map((entry) => [entry.response.id, entry]));
        const others = await stored.getMany(
          tenant,
          ids.filter((id) => !held.has(id)),
        );
        return new Map([...others, ...held]);
      },
      delete: (tenant, id) => stored.delete(tenant, id),
      ownItem(itemId) {
        for (const { entry } of own.values()) {
          const items = [...entry.input, ...entry.response.output];
          const item = items.find((each) => each["id"] === itemId);
          if (item !== undefined) return { item, isPrivate: entry.isPrivate ?? false };
        }
        return undefined;
      },
    }),
    evict(id) {
      for (const [lane, { entry }] of own) if (entry.response.id === id) hold(lane, undefined);
    },
    close() {
      isClosed = true;
      own.clear();
      room.release();
    },
  };
}
