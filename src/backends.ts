/** From configured backends to the engines and models they stand for. */
import { type BackendSettings, type Settings, toBackends } from "./config.ts";
import { createEngine } from "./engines/create-engine.ts";
import type { Engine } from "./engines/engine.ts";
import type { CreateNativeLlama } from "./engines/llama.ts";
import type { Transport } from "./engines/transport.ts";
import type { ModelOptions } from "./turn/models.ts";

export interface BackendDeps {
  /** How engines reach their servers: what this runtime does best. */
  readonly transport: Transport;
  /** What runs the engine `llama`, on runtimes that can. */
  readonly createNativeLlama?: CreateNativeLlama;
  /** Holds the demo engine back to a pace at which people see it stream. */
  readonly demoTokensPerSecond?: number;
}

export function toModelOptions(settings: Settings, deps: BackendDeps): ModelOptions[] {
  return toBackends(settings).map((backend) => ({
    id: backend.servedName,
    aliases: backend.aliases,
    engine: toEngine(backend, settings, deps),
    layout: settings.layout,
    ...(backend.contextLength !== undefined && { contextLength: backend.contextLength }),
  }));
}

function toEngine(backend: BackendSettings, settings: Settings, deps: BackendDeps): Engine {
  const { engine, url, model, engineKey, contextLength, tokenEndpoint, headers, extraBody } =
    backend;
  return createEngine(engine, {
    model,
    tokenEndpoint,
    transport: deps.transport,
    ...(deps.createNativeLlama !== undefined && { createNativeLlama: deps.createNativeLlama }),
    ...(deps.demoTokensPerSecond !== undefined && { tokensPerSecond: deps.demoTokensPerSecond }),
    timeouts: {
      connectMs: settings.connectTimeoutMs,
      firstByteMs: settings.firstTokenTimeoutMs,
      idleMs: settings.idleTimeoutMs,
    },
    ...(url !== undefined && { url }),
    ...(engineKey !== undefined && { apiKey: engineKey }),
    ...(contextLength !== undefined && { contextLength }),
    ...(headers !== undefined && { headers }),
    ...(extraBody !== undefined && { extraBody }),
  });
}
