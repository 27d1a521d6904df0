/**
 * Responses that outlive their request: for reading back, for continuing by `previous_response_id`, and for items
 * referred to by their id.
 *
 * An entry holds what one request added, its input and its output, and names the responses before it. So a conversation
 * of n turns takes n entries and n reads, which are made at once, and none holds what another holds already.
 */
import * as z from "zod";
import { type Store, storeKey } from "../../store/store.ts";
import type { WireItem } from "./items.ts";
import { once } from "../../once.ts";

export interface StoredResponse {
  /** The response object, with all reasoning in its output, whatever the client was shown. */
  readonly response: StoredResource;
  /** The input items of its own request, each with an id. */
  readonly input: readonly WireItem[];
  /** Ids of the responses it continues, oldest first. */
  readonly ancestors: readonly string[];
  /** Milliseconds since 1970. */
  readonly storedAt: number;
}

export type StoredResource = Readonly<Record<string, unknown>> & {
  readonly id: string;
  readonly status: string;
  readonly output: readonly WireItem[];
};

/** Still being made, in the background. */
export function isUnderWay({ status }: { readonly status: string }): boolean {
  return status === "queued" || status === "in_progress";
}

export interface ResponseStore {
  put(tenant: string, entry: StoredResponse, options: PutOptions): Promise<void>;
  get(tenant: string, id: string): Promise<StoredResponse | undefined>;
  delete(tenant: string, id: string): Promise<void>;
  /** The named response and all it continues, oldest first. Undefined when any of them is gone. */
  chain(tenant: string, id: string): Promise<readonly StoredResponse[] | undefined>;
  /** An input or output item by its id. */
  findItem(tenant: string, itemId: string): Promise<WireItem | undefined>;
}

export interface PutOptions {
  /** What the request asked for. False: it must not be found by anybody later. */
  readonly store: boolean;
  /** All items before its input. */
  readonly earlier: readonly WireItem[];
}

export interface ResponseStoreDeps {
  readonly store: Store;
  readonly ttlSeconds: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const wireItem = once(() => z.looseObject({ type: z.string() }));

const storedResponse = z.lazy(() =>
  z.object({
    response: z.looseObject({ id: z.string(), status: z.string(), output: z.array(wireItem()) }),
    input: z.array(wireItem()),
    ancestors: z.array(z.string()),
    storedAt: z.number(),
  }),
);

export function createResponseStore(deps: ResponseStoreDeps): ResponseStore {
  const { store, ttlSeconds, now } = deps;

  return { put, get, delete: remove, chain, findItem };

  async function put(tenant: string, entry: StoredResponse, options: PutOptions): Promise<void> {
    if (options.store) await write(tenant, entry);
  }

  async function write(tenant: string, entry: StoredResponse): Promise<void> {
    const key = await responseKey(tenant, entry.response.id);
    await store.set(key, JSON.stringify(entry), ttlSeconds);
  }

  async function get(tenant: string, id: string): Promise<StoredResponse | undefined> {
    const text = await store.get(await responseKey(tenant, id));
    if (text === undefined) return undefined;
    // Undefined also for what another version may have written.
    return storedResponse.safeParse(JSON.parse(text)).data;
  }

  async function remove(tenant: string, id: string): Promise<void> {
    await store.delete(await responseKey(tenant, id));
  }

  async function chain(tenant: string, id: string): Promise<StoredResponse[] | undefined> {
    const last = await get(tenant, id);
    if (last === undefined) return undefined;
    const before = await Promise.all(last.ancestors.map((each) => get(tenant, each)));
    const found = before.filter((each) => each !== undefined);
    if (found.length < before.length) return undefined;
    // A conversation lives as long as it is continued, not as long as its oldest turn.
    const old = found.filter(({ storedAt }) => now() - storedAt > (ttlSeconds * 1000) / 2);
    await Promise.all(old.map((each) => write(tenant, { ...each, storedAt: now() })));
    return [...found, last];
  }

  async function findItem(tenant: string, itemId: string): Promise<WireItem | undefined> {
    const id = responseOf(itemId);
    const entry = id === undefined ? undefined : await get(tenant, id);
    if (entry === undefined) return undefined;
    return [...entry.input, ...entry.response.output].find((item) => item["id"] === itemId);
  }
}

/**
 * Items are named after their response, so that a reference to one needs no entry of its own: `rs_<key>_2` is the
 * third output item of `resp_<key>`, `msg_<key>_i0` its first input item.
 */
export function toItemId(responseId: string, prefix: string, place: number | string): string {
  return `${prefix}_${responseId.replace(/^resp_/, "")}_${place}`;
}

function responseOf(itemId: string): string | undefined {
  const key = /^[a-z]+_([0-9A-Za-z]+)_i?\d+$/.exec(itemId)?.[1];
  return key === undefined ? undefined : `resp_${key}`;
}

function responseKey(tenant: string, id: string): Promise<string> {
  return storeKey("response", tenant, id);
}
