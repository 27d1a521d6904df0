/** Tells where restored reasoning came from, for the record of a turn. */
import { toTexts } from "./call-reasoning.ts";
import type { ReasoningStore } from "./reasoning-store.ts";

/** The same store. `note` is called with each text that was decrypted or found in the store. */
export function watchReasoning(
  store: ReasoningStore,
  note: (tenant: string, text: string, source: "sealed" | "stored") => void,
): ReasoningStore {
  return {
    keep: (events, options) => store.keep(events, options),
    readCalls: (tenant, callIds) => store.readCalls(tenant, callIds),
    async restore(tenant, steps, stored) {
      const restored = await store.restore(tenant, steps, stored);
      for (const { reasoning, outcome } of restored) {
        if (outcome !== "sealed" && outcome !== "stored") continue;
        for (const text of toTexts(reasoning)) note(tenant, text, outcome);
      }
      return restored;
    },
    async open(tenant, sealed) {
      const opened = await store.open(tenant, sealed);
      if (opened.opened) note(tenant, opened.text, "sealed");
      return opened;
    },
    openCall: (tenant, sealed) => store.openCall(tenant, sealed),
    async openEither(tenant, sealed) {
      const opened = await store.openEither(tenant, sealed);
      if (typeof opened === "string") note(tenant, opened, "sealed");
      return opened;
    },
  };
}
