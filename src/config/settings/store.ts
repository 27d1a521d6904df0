/** The settings of the group `store`: the store of reasoning and responses, and its limits. */
import * as z from "zod";
import { bytes, count, milliseconds, setting } from "../setting.ts";

export function storeSettings() {
  return {
    store: setting(
      "store",
      () =>
        z
          .string()
          .regex(/^(memory|sqlite:(?!\/\/|:).+|(rediss?|postgres(ql)?):\/\/.+|(kv|d1):\w+)$/),
      {
        ofServer: true,
        fixed: true,
        common: true,
        default: "memory",
        description:
          "Where reasoning and stored responses are kept: in this process (memory), in a file that outlives it (sqlite:state.db), " +
          "in Redis (redis://host:6379), in PostgreSQL (postgres://user@host:5432/database), or, on Workers, in the D1 database or the KV namespace bound under a name (d1:STORE, kv:STORE).",
        expected:
          "memory, sqlite:PATH, a redis://, rediss:// or postgres:// URL, d1:BINDING or kv:BINDING",
        secret: true,
      },
    ),
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
