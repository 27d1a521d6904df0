/** Opens the configured store on Workers: memory, or the binding of a name. */
import { SettingsError } from "../config/resolve.ts";
import type { Settings } from "../config/settings.ts";
import { storeForms, storeKind, type StoreKindOn } from "../config/settings/store.ts";
import { createD1Store, isD1Database } from "./d1-store.ts";
import { createKvStore, isKvNamespace } from "./kv-store.ts";
import { toMemoryStore } from "./reasoning.ts";
import type { Store } from "./store.ts";

export interface OpenBinding {
  readonly store: Store;
  /** Notes for the operator about this store on this platform. */
  readonly notes: readonly string[];
}

/** @throws SettingsError */
export function openBinding(
  settings: Settings,
  env: Readonly<Record<string, unknown>>,
): OpenBinding {
  const { store } = settings;
  if (store === "memory") {
    return { store: toMemoryStore(settings), notes: [MEMORY_NOTE, BACKGROUND_NOTE] };
  }
  const kind = storeKind(store);
  if (kind !== "d1" && kind !== "kv") {
    throw new SettingsError([
      `store ${kind}: is available on Node only. On Workers, use ${storeForms("workers")}.`,
    ]);
  }
  kind satisfies Exclude<StoreKindOn<"workers">, "memory">;
  const name = store.slice(store.indexOf(":") + 1);
  const binding = env[name];
  if (kind === "d1" && isD1Database(binding)) {
    return { store: createD1Store(binding), notes: [BACKGROUND_NOTE] };
  }
  if (kind === "kv" && isKvNamespace(binding)) {
    return { store: createKvStore(binding), notes: [KV_NOTE, BACKGROUND_NOTE] };
  }
  throw new SettingsError([`store ${store}: ${toProblem(kind, name, binding)}`]);
}

const MEMORY_NOTE =
  "store memory: each isolate has its own memory and may end at any time, so a request finds what an earlier one has stored " +
  "only by luck. Use d1:BINDING, or have clients carry sealed reasoning (sealingKeys).";

const KV_NOTE =
  "store kv: shows other locations an entry up to a minute late, and takes one write a second for each key. That is good " +
  "for reasoning and for responses that are read later. For conversations and background responses, use d1:BINDING.";

const BACKGROUND_NOTE =
  "background responses: Cloudflare ends work 30 seconds after the answer, so a longer one ends as failed unless its client " +
  "streams it.";

function toProblem(kind: string, name: string, binding: unknown): string {
  const wanted = kind === "d1" ? "D1 database" : "KV namespace";
  if (binding === undefined) return `no ${wanted} is bound under ${name}.`;
  const right = [
    ...(isD1Database(binding) ? [`a D1 database; use d1:${name}`] : []),
    ...(isKvNamespace(binding) ? [`a KV namespace; use kv:${name}`] : []),
  ];
  return `${name} is no ${wanted}${right.length > 0 ? `, but ${right.join()}` : ""}.`;
}
