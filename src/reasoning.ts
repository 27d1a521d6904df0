/** What keeps chain of thought, put together from the settings: the store and the seals, watched. */
import type { Settings } from "./config.ts";
import type { Log } from "./log.ts";
import type { Meters } from "./observe.ts";
import { createForgivingStore } from "./store/forgiving-store.ts";
import { createReasoningKeeper, type ReasoningKeeper } from "./store/reasoning-keeper.ts";
import { createSeals, type Seals } from "./store/seals.ts";
import type { Store } from "./store/store.ts";

export interface ReasoningDeps {
  readonly log: Log;
  readonly meters: Meters;
  readonly now: () => Date;
}

/** The store, its failures counted; the first of a row and the end of the row are logged. */
export function watchStore(store: Store, settings: Settings, deps: ReasoningDeps): Store {
  const { log, meters } = deps;
  let failing = false;
  return createForgivingStore(store, {
    timeoutMs: settings.storeTimeoutMs,
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

/** `store`: one that never rejects. */
export function createKeeper(
  store: Store,
  seals: Seals,
  settings: Settings,
  { meters }: ReasoningDeps,
): ReasoningKeeper {
  return createReasoningKeeper({
    store,
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
