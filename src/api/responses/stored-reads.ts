/**
 * Reads the stored responses that one request needs. Each is read once, and only the needed items are kept, so that
 * neither many references to one item nor many long responses multiply in memory.
 */
import { yieldToEventLoop } from "../../streams/timers.ts";
import { ignoreStoreFailure } from "../errors.ts";
import type { InputItem, WireItem } from "./items.ts";
import { type ResponseStore, responseOf, type StoredResponse } from "./response-store.ts";

/**
 * Maximum number of responses that one request's references may need. Cloudflare's KV and D1 allow a request no more
 * reads.
 */
const MAX_RESPONSES = 1000;
/** Number of responses read at once. More would save little time and need more memory. */
const BATCH = 8;
/** Characters parsed before yielding to the event loop. */
const SLICE = 1_000_000;

/** The parts of a response that its continuation needs. */
export interface ChainLink {
  readonly id: string;
  readonly status: string;
  readonly items: readonly WireItem[];
  readonly isPrivate: boolean;
}

/** Sums the size of a request's history. Throws a `RequestError` above the limit. */
export interface HistoryBudget {
  /** `size`: as measured by {@link sizeOf}. `param`: the field that references the data. */
  add(size: number, param: string): void;
}

export interface ReadChainOptions {
  readonly budget: HistoryBudget;
  /**
   * Entries older than this are stored again, so that a conversation does not expire while it is continued; so are
   * entries dated as far in the future, by a machine whose clock was ahead.
   */
  readonly refreshAfterMs: number;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Reads the response and all responses that it continues, oldest first. Undefined if any of them has expired. */
export async function readChain(
  responses: ResponseStore,
  tenant: string,
  id: string,
  options: ReadChainOptions,
): Promise<readonly ChainLink[] | undefined> {
  const slices = createSlices();
  const last = await responses.get(tenant, id);
  if (last === undefined) return undefined;
  const links: ChainLink[] = [];
  for (let at = 0; at < last.ancestors.length; at += BATCH) {
    const ids = last.ancestors.slice(at, at + BATCH);
    const batch = await responses.getMany(tenant, ids);
    for (const each of ids) {
      const entry = batch.get(each);
      if (entry === undefined) return undefined;
      if (Math.abs(options.now - entry.storedAt) > options.refreshAfterMs) {
        const renewed = { ...entry, storedAt: options.now };
        // A failed write is ignored: this request only needs to read.
        await responses
          .put(tenant, renewed, { store: true, earlier: [] })
          .catch(ignoreStoreFailure);
      }
      links.push(toLink(entry));
      await slices.spend(sizeOf(entry));
    }
  }
  return [...links, toLink(last)];

  function toLink({ response, input, isPrivate = false }: StoredResponse): ChainLink {
    const items = [...input, ...response.output];
    options.budget.add(sizeOf(items), "previous_response_id");
    return { id: response.id, status: response.status, items, isPrivate };
  }
}

/** Reads items by reference. */
export class ItemReads {
  readonly #responses: ResponseStore;
  readonly #tenant: string;
  readonly #wanted: ReadonlySet<string>;
  readonly #read = new Map<string, Promise<ReadonlyMap<string, WireItem>>>();
  readonly #slices = createSlices();
  #arePrivate = false;

  /** @param wanted the ids that may be requested. Only these items of a response are kept. */
  constructor(responses: ResponseStore, tenant: string, wanted: ReadonlySet<string>) {
    this.#responses = responses;
    this.#tenant = tenant;
    this.#wanted = wanted;
  }

  /** Whether one of the read responses is private. */
  get arePrivate(): boolean {
    return this.#arePrivate;
  }

  /** Finds an input or output item by its id. Undefined also if the id is not in `wanted`. */
  async find(itemId: string): Promise<WireItem | undefined> {
    const own = this.#responses.ownItem(itemId);
    if (own !== undefined) {
      this.#arePrivate ||= own.isPrivate;
      return own.item;
    }
    const id = responseOf(itemId);
    if (id === undefined) return undefined;
    let items = this.#read.get(id);
    if (items === undefined) {
      if (this.#read.size >= MAX_RESPONSES) return undefined;
      items = this.#readItems(id);
      this.#read.set(id, items);
    }
    return (await items).get(itemId);
  }

  async #readItems(id: string): Promise<ReadonlyMap<string, WireItem>> {
    const found = new Map<string, WireItem>();
    const entry = await this.#responses.get(this.#tenant, id);
    if (entry === undefined) return found;
    this.#arePrivate ||= entry.isPrivate ?? false;
    for (const item of [...entry.input, ...entry.response.output]) {
      const itemId = item["id"];
      if (typeof itemId === "string" && this.#wanted.has(itemId)) found.set(itemId, item);
    }
    await this.#slices.spend(sizeOf(entry));
    return found;
  }
}

/** The ids under which an item can be found. */
export function wantedIds(items: readonly InputItem[]): Set<string> {
  const ids = new Set<string>();
  for (const item of items) {
    if ((item.type === "item_reference" || item.type === "reasoning") && item.id) ids.add(item.id);
    // The result of a call that the gateway ran is found by the item's id.
    if (item.type === "unsupported" && typeof item.item["id"] === "string")
      ids.add(item.item["id"]);
  }
  return ids;
}

/** The approximate JSON length of a value. */
export function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 4;
  let size = 2;
  if (Array.isArray(value)) {
    for (const each of value) size += sizeOf(each) + 1;
    return size;
  }
  for (const [name, member] of Object.entries(value)) size += name.length + 4 + sizeOf(member);
  return size;
}

function createSlices() {
  let spent = 0;
  return {
    /** Yields to the event loop when a slice has been parsed since the last yield. */
    async spend(size: number): Promise<void> {
      spent += size;
      if (spent < SLICE) return;
      spent = 0;
      await yieldToEventLoop();
    },
  };
}
