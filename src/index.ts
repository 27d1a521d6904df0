/**
 * The gateway as a library: the application, to mount on your own server on any runtime.
 * `harmony-gateway/node` contains the parts that need Node, `harmony-gateway/worker` a Worker that is ready to deploy,
 * `harmony-gateway/harmony` and `harmony-gateway/tokenizer` Harmony and the tokenizer alone.
 */

// The gateway inside your own server: `gateway.fetch`.
export { createGateway, type EmbeddedGateway, type GatewayOptions } from "./gateway.ts";

// State kept between requests: in memory, in a D1 database or a KV namespace, or in any object with these three methods.
export type { Store } from "./store/store.ts";
export { createMemoryStore, type MemoryStoreOptions } from "./store/memory-store.ts";
export type { StoreLimits, StoreQuota } from "./store/fair-share.ts";
export { createKvStore, type KvNamespace } from "./store/kv-store.ts";
export { createD1Store, type D1Database, type D1Statement } from "./store/d1-store.ts";

// Settings.
export { type Settings, settingsSchema } from "./config/settings.ts";
export { resolveSettings, SettingsError } from "./config/resolve.ts";
export type { SettingInput } from "./config/setting-input.ts";

// Types of the gateway's members and options.
export type { Model, ModelOptions, Models } from "./models/models.ts";
export type { Log } from "./telemetry/log.ts";

// Engines: the built-in ones, and the interface for your own.
export {
  type ConfiguredKind,
  createEngine,
  ENGINE_KINDS,
  type EngineKind,
} from "./engines/create-engine.ts";
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
