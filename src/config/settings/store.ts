/** The settings of the group `store`: the store of reasoning and responses, and its limits. */
import * as z from "zod";
import { bytes, count, milliseconds, setting } from "../setting.ts";

interface StoreEntry {
  /** The runtime that supports the store. */
  readonly on: "any" | "node" | "workers";
  /** Pattern of the setting's values, and their form for readers. */
  readonly pattern: RegExp;
  readonly form: string;
  /** Completes the sentence "Entries are kept …". */
  readonly place: string;
}

/**
 * The kinds of stores. The setting, errors and help are generated from it, and each runtime has an opener for each of its own.
 */
export const STORES = {
  memory: {
    on: "any",
    pattern: /^memory$/,
    form: "memory",
    place: "in this process (memory)",
  },
  sqlite: {
    on: "node",
    pattern: /^sqlite:(?!\/\/|:).+$/,
    form: "sqlite:PATH",
    place: "in a file that outlives it (sqlite:state.db)",
  },
  redis: {
    on: "node",
    pattern: /^rediss?:\/\/.+$/,
    form: "redis://HOST",
    place: "in Redis (redis://host:6379)",
  },
  postgres: {
    on: "node",
    pattern: /^postgres(ql)?:\/\/.+$/,
    form: "postgres://HOST/DATABASE",
    place: "in PostgreSQL (postgres://user@host:5432/database)",
  },
  d1: {
    on: "workers",
    pattern: /^d1:\w+$/,
    form: "d1:BINDING",
    place: "in the D1 database bound under a name on Workers (d1:STORE)",
  },
  kv: {
    on: "workers",
    pattern: /^kv:\w+$/,
    form: "kv:BINDING",
    place: "in the KV namespace bound under a name on Workers (kv:STORE)",
  },
} as const satisfies Readonly<Record<string, StoreEntry>>;

export type StoreKind = keyof typeof STORES;
/** The kinds that a runtime supports. */
export type StoreKindOn<R extends "node" | "workers"> = {
  [K in StoreKind]: (typeof STORES)[K]["on"] extends "any" | R ? K : never;
}[StoreKind];

export function isStoreOnNode(kind: StoreKind | undefined): kind is StoreKindOn<"node"> {
  return kind !== undefined && STORES[kind].on !== "workers";
}

/** Undefined: the value is not valid. */
export function storeKind(store: string): StoreKind | undefined {
  return STORE_KINDS.find((kind) => STORES[kind].pattern.test(store));
}

/** Lists the persistent stores of a runtime, or all: `sqlite:PATH, redis://HOST or postgres://HOST/DATABASE`. */
export function storeForms(runtime?: "node" | "workers"): string {
  const kinds = STORE_KINDS.map((kind) => STORES[kind]).filter(
    ({ on }) => on !== "any" && (runtime === undefined || on === runtime),
  );
  return listOf(kinds.map(({ form }) => form));
}

function listOf(words: readonly string[]): string {
  return `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

const STORE_KINDS = Object.keys(STORES).filter((name): name is StoreKind => name in STORES);

export function storeSettings() {
  return {
    store: setting("store", () => z.string().refine((store) => storeKind(store) !== undefined), {
      ofServer: true,
      fixed: true,
      common: true,
      default: "memory",
      description: `Where reasoning and stored responses are kept: ${listOf(STORE_KINDS.map((kind) => STORES[kind].place))}.`,
      expected: `memory, ${storeForms()}`,
      secret: true,
    }),
    storeTtlSeconds: setting("store", count, {
      common: true,
      default: 86_400,
      description: "How long an entry is kept.",
    }),
    storeTimeoutMs: setting("store", milliseconds, {
      fixed: true,
      description:
        "Maximum wait for the store. After it, reasoning counts as lost, and requests that depend on a " +
        "stored response or conversation are answered 503. Absent: 500, and 3000 for stores of Workers, which may be far away.",
    }),
    storeMaxEntries: setting("store", count, {
      fixed: true,
      default: 10_000,
      description:
        "Maximum entries in memory or in the file. When it is full, the tenant with the most entries loses its least recently used ones.",
    }),
    storeMaxBytes: setting("store", bytes, {
      fixed: true,
      default: 67_108_864,
      description:
        "Maximum bytes in memory or in the file. When it is full, the tenant with the most bytes loses its least recently used entries.",
    }),
    storeMaxEntryBytes: setting("store", bytes, {
      description:
        "Maximum bytes of a stored response or conversation, in any store. Larger ones are refused with 413 before they are " +
        "generated or extended. Absent: an eighth of `storeMaxBytes`.",
    }),
    storeMaxEntriesPerKey: setting("store", count, {
      fixed: true,
      perKey: true,
      description:
        "Maximum entries of one key in memory or in the file, even when the store has room; the least recently used are removed first. " +
        "Absent: no limit per key.",
    }),
    storeMaxBytesPerKey: setting("store", bytes, {
      fixed: true,
      perKey: true,
      description:
        "Maximum bytes of one key in memory or in the file, even when the store has room; the least recently used entries are removed first. " +
        "Absent: no limit per key.",
    }),
  };
}
