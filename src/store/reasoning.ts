/** Creates the store and the reasoning store from the settings, with logging and metrics. */
import { createKeySetting } from "../config/key-setting.ts";
import type { Settings } from "../config/settings.ts";
import { partOf, type ProcessState } from "../lazy.ts";
import type { Log } from "../telemetry/log.ts";
import type { Meters } from "../telemetry/meters.ts";
import type { EntryDeps } from "./entries.ts";
import type { StoreLimits, StoreQuota } from "./fair-share.ts";
import { createForgivingStore, createGuardedStore, type GuardedStore } from "./guarded-store.ts";
import { createMemoryStore } from "./memory-store.ts";
import { createReasoningStore, type ReasoningStore } from "./reasoning-store.ts";
import { createReasoningCipher, type ReasoningCipher } from "./reasoning-cipher.ts";
import type { Store } from "./store.ts";

export interface ReasoningDeps {
  readonly log: Log;
  readonly meters: Meters;
  /** Monotonic time, in milliseconds. */
  readonly now: () => number;
  readonly state?: ProcessState;
}

/** The limits of a store in memory or in a file. */
export interface StoreBounds {
  readonly limits: StoreLimits;
  readonly quotaOf: (tenant: string) => StoreQuota;
}

export function toStoreBounds(settings: Settings): StoreBounds {
  const maxEntriesOf = createKeySetting(settings, "storeMaxEntriesPerKey");
  const maxBytesOf = createKeySetting(settings, "storeMaxBytesPerKey");
  return {
    limits: { maxEntries: settings.storeMaxEntries, maxBytes: settings.storeMaxBytes },
    quotaOf: (tenant) => ({ maxEntries: maxEntriesOf(tenant), maxBytes: maxBytesOf(tenant) }),
  };
}

/** A memory store with the limits of the settings. */
export function toMemoryStore(settings: Settings): Store {
  const { limits, quotaOf } = toStoreBounds(settings);
  return createMemoryStore({ ...limits, quotaOf, now: () => performance.now() });
}

/** Maximum wait for a store in this process, on its machine or nearby. */
export const DEFAULT_TIMEOUT_MS = 500;

/** Default share of the store for one entry: one eighth. */
const ENTRY_SHARE = 8;

/** Maximum size of a value, in any store. */
export function maxEntryBytes({ storeMaxEntryBytes, storeMaxBytes }: Settings): number {
  return storeMaxEntryBytes ?? Math.floor(storeMaxBytes / ENTRY_SHARE);
}

/** Counts every failure of the store. Logs the first of consecutive ones, and the recovery. */
export function watchStore(store: Store, settings: Settings, deps: ReasoningDeps): GuardedStore {
  const { log, meters, state } = deps;
  const reported = reportedIn(state);
  return createGuardedStore(store, {
    timeoutMs: settings.storeTimeoutMs ?? store.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    maxEntryBytes: maxEntryBytes(settings),
    now: deps.now,
    ...(state && { state }),
    onFailure(operation, failure, error) {
      meters.storeFailures.add({ operation, failure });
      if (reported.isFailing) return;
      reported.isFailing = true;
      log.warn("store failing", {
        operation,
        failure,
        ...(error instanceof Error && { message: error.message }),
      });
    },
    onRecovery() {
      reported.isFailing = false;
      log.info("store answering again");
    },
  });
}

const reportedIn = partOf(() => ({ isFailing: false }));

/** Counts and logs entries that could not be read. They are treated as missing. */
export function reportUnreadable({ log, meters }: ReasoningDeps): EntryDeps["onUnreadable"] {
  return (kind, version) => {
    meters.corruptEntries.add({ kind });
    log.warn("store entry not readable", { kind, ...(version !== undefined && { version }) });
  };
}

/** Fails open: lost chain of thought costs quality, never correctness. */
export function openReasoningStore(
  store: GuardedStore,
  cipher: ReasoningCipher,
  settings: Settings,
  deps: ReasoningDeps,
): ReasoningStore {
  const { meters } = deps;
  return createReasoningStore({
    store: createForgivingStore(store),
    onUnreadable: reportUnreadable(deps),
    ttlSeconds: settings.storeTtlSeconds,
    cipher,
    onRestored: (outcome) => meters.reasoningReturned.add({ outcome }),
    onSealRefused: (reason) => meters.sealsRefused.add({ reason }),
  });
}

/**
 * Creates the cipher. Without configured keys, it uses a random one. Other replicas, and this one after a restart, then cannot
 * decrypt the reasoning. The warning is logged at the first use, because most gateways never encrypt any.
 */
export function createCipher(
  { sealingKeys }: Settings,
  log: Log,
  state: ProcessState,
): ReasoningCipher {
  const random = randomKeyOf(state);
  const isRandom = sealingKeys.length === 0;
  if (isRandom) random.key ??= crypto.randomUUID() + crypto.randomUUID();
  // The random key decrypts until the process ends, even after keys were configured.
  const secrets = random.key === undefined ? sealingKeys : [...sealingKeys, random.key];
  const [newest = "", ...older] = secrets;
  const cipher = createReasoningCipher({
    secrets: [newest, ...older],
    randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
  });
  if (!isRandom) return cipher;
  return {
    open: cipher.open,
    seal(text, bound) {
      if (!random.isUsed) {
        log.warn("sealing without sealingKeys", { opens: "until this process ends" });
      }
      random.isUsed = true;
      return cipher.seal(text, bound);
    },
  };
}

/** One random key for all generations of a process. */
const randomKeyOf = partOf((): { key: string | undefined; isUsed: boolean } => {
  return { key: undefined, isUsed: false };
});
