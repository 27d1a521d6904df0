/**
 * The gateway as a library: the application to mount on a server of one's own, on any runtime. What only Node has
 * is in `harmony-gateway/node`, a Worker that is ready to deploy in `harmony-gateway/worker`, and Harmony and the
 * tokenizer alone in `harmony-gateway/harmony` and `harmony-gateway/tokenizer`.
 */

// The application.
export { createApp, type AppDeps } from "./app.ts";
export { createLog, type Log, type LogOptions } from "./telemetry/log.ts";

// What outlives a request: this process's memory, a KV namespace, or anything with these three methods.
export type { Store } from "./store/store.ts";
export {
  createMemoryStore,
  type MemoryStoreOptions,
  type StoreQuota,
} from "./store/memory-store.ts";
export { createKvStore, type KvNamespace } from "./store/kv-store.ts";

// Its settings.
export { type Settings, settingsSchema } from "./config/settings.ts";
export { type SettingInput, resolveSettings, SettingsError } from "./config/resolve.ts";

// The models it serves.
export { toModelOptions, type BackendDeps } from "./models/backends.ts";
export { createCacheSalts, type CacheSalts } from "./turn/cache-salt.ts";
export { createModels, type Model, type ModelOptions, type Models } from "./models/models.ts";

// Engines: the ones that come with it, and what one of your own has to be.
export { createEngine, ENGINE_KINDS, type EngineKind } from "./engines/create-engine.ts";
export type {
  Capabilities,
  CompletionRequest,
  Engine,
  EngineEvent,
  EngineProbe,
} from "./engines/engine.ts";
export { EngineError, type EngineErrorKind } from "./engines/engine-error.ts";
export { createFetchTransport } from "./engines/fetch-transport.ts";
export type { Transport } from "./engines/transport.ts";
