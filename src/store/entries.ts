/**
 * Entries of one kind in a store: the only place where stored text becomes a value.
 *
 * A stored value can be truncated or altered, so it is validated when it is read. An invalid value counts as missing, and is
 * reported.
 *
 * During an upgrade an older and a newer gateway share a store, so each value begins with the version of its format: `v1 {…}`.
 * A gateway reads the versions up to its own; a later one counts as missing. An optional member is no new version: earlier
 * gateways ignore it.
 */
import type * as z from "zod";
import { endOfString, JsonText } from "../json-text.ts";
import { createPause, createTextPause } from "../streams/slices.ts";
import { readMany, type Store, storeKey } from "./store.ts";

export interface EntryDeps {
  readonly store: Store;
  readonly ttlSeconds: number;
  /** Called for each entry that could not be read. `version`: it is one that this gateway does not know. */
  readonly onUnreadable: (kind: string, version?: number) => void;
}

/** Rejects as the store does. */
export interface Entries<T> {
  get(tenant: string, ...id: readonly string[]): Promise<T | undefined>;
  /** Those that exist, by their ids. */
  getMany(tenant: string, ids: readonly string[]): Promise<ReadonlyMap<string, T>>;
  /** Takes a value, or its JSON. False: it is too large, and the previous value is unchanged. */
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

  /** In slices where the text is large. */
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

/** Undefined for text that is not JSON, nests too deeply or does not meet the schema. Never throws. */
export function readStored<S extends z.ZodType>(schema: S, text: string): z.output<S> | undefined {
  return schema.safeParse(parseStored(text)).data;
}

/** Undefined for text that is not JSON or nests too deeply: no schema of stored values accepts it. */
function parseStored(text: string): unknown {
  if (isTooDeep(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Characters that are read and written without a pause. */
const AT_ONCE = 100_000;

/** Twice what requests may nest: deeper values were not stored by a gateway, and overflow the stack of whoever walks them. */
const MAX_DEPTH = 256;
const QUOTE = 0x22;

function isTooDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) at = endOfString(text, at);
    // [ and {, which differ from ] and } by two.
    else if ((unit | 0x20) === 0x7b && ++depth > MAX_DEPTH) return true;
    else if ((unit | 0x20) === 0x7d) depth -= 1;
  }
  return false;
}
