/** The store and what keeps chain of thought in it, put together from the settings, logged and counted. */
import type { Settings } from "./config.ts";
import type { Log } from "./log.ts";
import type { Meters } from "./observe.ts";
import { createForgivingStore } from "./store/forgiving-store.ts";
import { createGuardedStore, type GuardedStore } from "./store/guarded-store.ts";
import { createMemoryStore } from "./store/memory-store.ts";
import { createReasoningKeeper, type ReasoningKeeper } from "./store/reasoning-keeper.ts";
import { createSeals, type Seals } from "./store/seals.ts";
import type { Store } from "./store/store.ts";

export interface ReasoningDeps {
  readonly log: Log;
  readonly meters: Meters;
  readonly now: () => Date;
}

/** The default store. */
export function toMemoryStore(settings: Settings): Store {
  return createMemoryStore({
    maxEntries: settings.storeMaxEntries,
    maxBytes: settings.storeMaxBytes,
    maxEntriesPerTenant: settings.storeMaxEntriesPerKey,
    maxBytesPerTenant: settings.storeMaxBytesPerKey,
    now: Date.now,
  });
}

/** An entry may take this share of the store unless the settings say otherwise. */
const ENTRY_SHARE = 8;

/** The store, its failures counted; the first of a row and the end of the row are logged. */
export function watchStore(store: Store, settings: Settings, deps: ReasoningDeps): GuardedStore {
  const { log, meters } = deps;
  let failing = false;
  return createGuardedStore(store, {
    timeoutMs: settings.storeTimeoutMs,
    maxEntryBytes: settings.storeMaxEntryBytes ?? Math.floor(settings.storeMaxBytes / ENTRY_SHARE),
    now: () => deps.now().getTime(),
    onFailure(operation, failure, error) {
      meters.storeFailures.add({ operation, failure });
      if (failing) return;
      failing = true;
      log.warn("store failing", {
        operation,
        failure,
        ...(error instanceof Error && { message: error.message }),
      });
    },
    onRecovery() {
      failing = false;
      log.info("store answering again");
    },
  });
}

/** Counts and logs entries that could not be read. They are taken for not there. */
export function reportCorrupt({ log, meters }: ReasoningDeps): (kind: string) => void {
  return (kind) => {
    meters.corruptEntries.add({ kind });
    log.warn("store entry not readable", { kind });
  };
}

/** Lost chain of thought costs quality, never correctness: here the store fails open. */
export function createKeeper(
  store: GuardedStore,
  seals: Seals,
  settings: Settings,
  deps: ReasoningDeps,
): ReasoningKeeper {
  const { meters } = deps;
  return createReasoningKeeper({
    store: createForgivingStore(store),
    onCorrupt: reportCorrupt(deps),
    ttlSeconds: settings.storeTtlSeconds,
    seals,
    onRestored: (outcome) => meters.reasoningReturned.add({ outcome }),
    onSealRefused: (reason) => meters.sealsRefused.add({ reason }),
  });
}

/**
 * Without configured keys, with one of this process's own: a replica, or the same gateway after a restart, cannot open
 * what it sealed. That is said when something is first sealed with it, because most gateways seal nothing.
 */
export function openSeals({ sealingKeys }: Settings, log: Log): Seals {
  const [newest = crypto.randomUUID() + crypto.randomUUID(), ...older] = sealingKeys;
  const seals = createSeals({
    secrets: [newest, ...older],
    randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
  });
  if (sealingKeys.length > 0) return seals;
  let said = false;
  return {
    open: seals.open,
    seal(text, bound) {
      if (!said)
        log.warn("sealing without sealingKeys", { opens: "in this process, until it ends" });
      said = true;
      return seals.seal(text, bound);
    },
  };
}
