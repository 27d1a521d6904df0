/**
 * Entries of one kind in a store: the only place where stored text becomes a value.
 *
 * A stored value can be truncated, altered or written by another version, so it is validated when it is read. An invalid
 * value counts as missing, and is reported.
 */
import type * as z from "zod";
import { type Store, storeKey } from "./store.ts";

export interface EntryDeps {
  readonly store: Store;
  readonly ttlSeconds: number;
  /** Called for each entry that could not be read. */
  readonly onCorrupt: (kind: string) => void;
}

/** Rejects as the store does. */
export interface Entries<T> {
  get(tenant: string, ...id: readonly string[]): Promise<T | undefined>;
  /** False: the value is too large, and the previous value is unchanged. */
  set(value: T, tenant: string, ...id: readonly string[]): Promise<boolean>;
  delete(tenant: string, ...id: readonly string[]): Promise<void>;
}

export function createEntries<S extends z.ZodType>(
  kind: string,
  schema: S,
  { store, ttlSeconds, onCorrupt }: EntryDeps,
): Entries<z.output<S>> {
  return {
    async get(tenant, ...id) {
      const text = await store.get(await storeKey(kind, tenant, ...id));
      if (text === undefined) return undefined;
      const value = readStored(schema, text);
      if (value === undefined) onCorrupt(kind);
      return value;
    },
    async set(value, tenant, ...id) {
      const key = await storeKey(kind, tenant, ...id);
      return store.set(key, JSON.stringify(value), ttlSeconds, tenant);
    },
    async delete(tenant, ...id) {
      await store.delete(await storeKey(kind, tenant, ...id));
    },
  };
}

/** Undefined for text that is not JSON or does not meet the schema. Never throws. */
export function readStored<S extends z.ZodType>(schema: S, text: string): z.output<S> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return schema.safeParse(value).data;
}
