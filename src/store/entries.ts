/**
 * Entries of one kind in a store: the only place where stored text becomes a value.
 *
 * A stored value can be truncated or altered, so it is validated when it is read. An invalid value counts as missing, and is
 * reported.
 *
 * During an upgrade an older and a newer gateway share a store, so each value begins with the version of its format: `v1 {…}`. A
 * gateway reads the versions up to its own; a value of a later one counts as missing. An optional member needs no new version:
 * earlier gateways ignore it.
 */
import type * as z from "zod";
import { endOfString, JsonText } from "../json-text.ts";
import { createPause, createTextPause } from "../streams/slices.ts";
import { readMany, type Store, storeKey } from "./store.ts";

export interface EntryDeps {
  readonly store: Store;
  readonly ttlSeconds: number;
  /** Called for each unreadable entry. `version`: the entry has this unknown version. */
  readonly onUnreadable: (kind: string, version?: number) => void;
}

/** Entries of one kind. Operations reject if the store's do. */
export interface Entries<T> {
  get(tenant: string, ...id: readonly string[]): Promise<T | undefined>;
  /** The existing entries, by their ids. */
  getMany(tenant: string, ids: readonly string[]): Promise<ReadonlyMap<string, T>>;
  /** Stores a value, or its JSON. False: the value is too large, and the previous one is unchanged. */
  set(value: T | JsonText, tenant: string, ...id: readonly string[]): Promise<boolean>;
  delete(tenant: string, ...id: readonly string[]): Promise<void>;
}

/** @param formats the schema of each version, from version 1 on. The last one is written; earlier ones are transformed into it. */
export function createEntries<S extends z.ZodType>(
  kind: string,
  formats: readonly S[],
  { store, ttlSeconds, onUnreadable }: EntryDeps,
): Entries<z.output<S>> {
  const newest = `v${formats.length} `;
  const pause = createPause();

  /** Parses a value, in slices if the text is long. */
  async function read(text: string): Promise<z.output<S> | undefined> {
    const version = VERSION.exec(text)?.[1];
    const schema = formats[Number(version) - 1];
    if (version !== undefined && schema === undefined) {
      onUnreadable(kind, Number(version));
      return undefined;
    }
    const json = text.slice(`v${version} `.length);
    const parsed = schema && parseStored(json);
    if (json.length > AT_ONCE) await pause();
    const value = schema?.safeParse(parsed).data;
    if (value === undefined) onUnreadable(kind);
    return value;
  }

  return {
    async get(tenant, ...id) {
      const text = await store.get(await storeKey(kind, tenant, ...id));
      if (text === undefined) return undefined;
      if (text.length > AT_ONCE) await pause();
      return read(text);
    },
    async getMany(tenant, ids) {
      const keys = await Promise.all(ids.map((id) => storeKey(kind, tenant, id)));
      const texts = await readMany(store, keys);
      const values = new Map<string, z.output<S>>();
      const waitBefore = createTextPause(pause);
      for (const [at, id] of ids.entries()) {
        const text = texts.get(keys[at] ?? "");
        if (text === undefined) continue;
        await waitBefore(text);
        const value = await read(text);
        if (value !== undefined) values.set(id, value);
      }
      return values;
    },
    async set(value, tenant, ...id) {
      const key = await storeKey(kind, tenant, ...id);
      const text = newest + (value instanceof JsonText ? value.text : JSON.stringify(value));
      if (text.length > AT_ONCE) await pause();
      return store.set(key, text, ttlSeconds, tenant);
    },
    async delete(tenant, ...id) {
      await store.delete(await storeKey(kind, tenant, ...id));
    },
  };
}

const VERSION = /^v(\d{1,6}) /;

/** Undefined: the text is not JSON, nests too deeply or does not meet the schema. Never throws. */
export function readStored<S extends z.ZodType>(schema: S, text: string): z.output<S> | undefined {
  return schema.safeParse(parseStored(text)).data;
}

/** Undefined: the text is not JSON or nests too deeply. No schema of stored values accepts undefined. */
function parseStored(text: string): unknown {
  if (isTooDeep(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Maximum characters that are read and written without a pause. */
const AT_ONCE = 100_000;

/**
 * Maximum nesting, twice that of requests: deeper values were not stored by a gateway, and overflow the stack of recursive
 * functions.
 */
const MAX_DEPTH = 256;
const QUOTE = 0x22;

function isTooDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) at = endOfString(text, at);
    // The unit is [ or {, which differ from ] and } by two.
    else if ((unit | 0x20) === 0x7b && ++depth > MAX_DEPTH) return true;
    else if ((unit | 0x20) === 0x7d) depth -= 1;
  }
  return false;
}
