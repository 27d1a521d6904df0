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

/** Undefined for text that is not JSON, nests too deeply or does not meet the schema. Never throws. */
export function readStored<S extends z.ZodType>(schema: S, text: string): z.output<S> | undefined {
  if (isTooDeep(text)) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return schema.safeParse(value).data;
}

/** Twice what requests may nest: deeper values were not stored by a gateway, and overflow the stack of whoever walks them. */
const MAX_DEPTH = 256;
const [QUOTE, BACKSLASH] = [0x22, 0x5c];

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

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0;
  while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes += 1;
  return slashes % 2 === 1;
}
