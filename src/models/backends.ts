/** Groups the configured backends into models: backends with the same served name are one model. */
import { type BackendSettings, toBackends } from "../config/backends.ts";
import type { Settings } from "../config/settings.ts";
import { createEngine } from "../engines/create-engine.ts";
import type { Engine } from "../engines/engine.ts";
import type { CreateNativeLlama } from "../engines/llama.ts";
import { createPool, type Pool } from "../engines/pool.ts";
import type { TenantLimits } from "../engines/pool/admission.ts";
import { PoolLoad } from "../engines/pool/load.ts";
import type { Transport } from "../engines/transport.ts";
import { getOrCreate, partOf, type ProcessState } from "../lazy.ts";
import { limitTokens, type TokenLimits } from "../turn/sampling/token-limits.ts";
import type { ModelOptions } from "./models.ts";

export interface BackendDeps {
  /** The HTTP client of this runtime. */
  readonly transport: Transport;
  /** Creates the in-process engine `llama`. Absent: this runtime cannot run it. */
  readonly createNativeLlama?: CreateNativeLlama;
  /** Speed of the demo engine, so that streaming is visible. Absent: no delay. */
  readonly demoTokensPerSecond?: number;
  /** State with the load of models, which their pools continue. Absent: there is no earlier load. */
  readonly state?: ProcessState;
}

export function toModelOptions(settings: Settings, deps: BackendDeps): ModelOptions[] {
  const byModel = Map.groupBy(toBackends(settings), ({ servedName }) => servedName);
  return [...byModel].map(([id, backends]) => ({
    id,
    aliases: [...new Set(backends.flatMap(({ aliases }) => aliases))],
    engine: toPool(id, backends, settings, deps),
    layout: settings.layout,
  }));
}

/** Creates the pool. A single backend gets a pool too, for its queue and its health. */
function toPool(
  id: string,
  backends: readonly BackendSettings[],
  settings: Settings,
  deps: BackendDeps,
): Pool {
  const { maxQueued, queueTimeoutMs } = settings;
  const limits = { maxQueued, queueTimeoutMs, tenants: toTenants(settings) };
  const load = getOrCreate(loadsOf(deps.state), id, () => new PoolLoad(limits));
  return createPool(
    backends.map((backend) => {
      const create = () => toEngine(backend, settings, deps);
      const { engine, health } = load.keep(backend.name, toKey(backend, settings), create);
      return {
        id: backend.name,
        server: backend.url ?? backend.engine,
        engine: limitTokens(engine, toTokenLimits(settings)),
        health,
        ...(backend.contextLength !== undefined && { contextLength: backend.contextLength }),
        ...(backend.maxConcurrent !== undefined && { maxConcurrent: backend.maxConcurrent }),
      };
    }),
    { ...limits, load },
  );
}

/** Key of all inputs of an engine, except those that a process never changes. */
function toKey(backend: BackendSettings, { connectTimeoutMs }: Settings): string {
  const others = { servedName: undefined, aliases: undefined, maxConcurrent: undefined };
  return JSON.stringify({ ...backend, ...others, connectTimeoutMs });
}

/** Loads by the model's id. */
const loadsOf = partOf(() => new Map<string, PoolLoad>());

function toTokenLimits({ firstTokenTimeoutMs, idleTimeoutMs }: Settings): TokenLimits {
  return { firstTokenMs: firstTokenTimeoutMs, idleMs: idleTimeoutMs };
}

/** Each key is a tenant. Without keys there is one tenant, without limits. */
function toTenants(settings: Settings): TenantLimits[] {
  const { keys, maxQueued, maxQueuedPerKey, maxConcurrentPerKey } = settings;
  return keys.map((key) => {
    const maxConcurrent = key.maxConcurrentPerKey ?? maxConcurrentPerKey;
    return {
      name: key.name,
      maxQueued: key.maxQueuedPerKey ?? maxQueuedPerKey ?? maxQueued,
      ...(maxConcurrent !== undefined && { maxConcurrent }),
    };
  });
}

/** The engine of one backend with its settings, without limits of completions. */
export function toEngine(backend: BackendSettings, settings: Settings, deps: BackendDeps): Engine {
  const { engine, url, model, engineKey, contextLength, tokenEndpoint, headers, extraBody } =
    backend;
  return createEngine(engine, {
    model,
    findsModel: backend.findsModel,
    tokenEndpoint,
    transport: deps.transport,
    ...(deps.createNativeLlama !== undefined && { createNativeLlama: deps.createNativeLlama }),
    ...(deps.demoTokensPerSecond !== undefined && { tokensPerSecond: deps.demoTokensPerSecond }),
    connectTimeoutMs: settings.connectTimeoutMs,
    ...(url !== undefined && { url }),
    ...(engineKey !== undefined && { apiKey: engineKey }),
    ...(contextLength !== undefined && { contextLength }),
    ...(headers !== undefined && { headers }),
    ...(extraBody !== undefined && { extraBody }),
  });
}
