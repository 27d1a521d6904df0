/** Finds the models to serve if the operator has named none, by requesting each inference server's list. */
import {
  type BackendEntry,
  type BackendSettings,
  DEFAULT_MODEL,
  toBackends,
  toEntries,
  toModelName,
} from "../config/backends.ts";
import type { Settings } from "../config/settings.ts";
import { servableModels } from "../engines/auto.ts";
import { ENGINES } from "../engines/create-engine.ts";
import { findServer, isHostedKind, type ServerKind } from "../engines/find-kind.ts";
import type { Transport } from "../engines/transport.ts";

export interface FoundSettings {
  /** An entry of `backends` for each model that was found. */
  readonly settings: Settings;
  /** False: some server has not listed its models yet. It has its earlier models, or the default one. */
  readonly isComplete: boolean;
}

export interface ModelFinder {
  /** Finds the models. Settings that name all models are returned unchanged. Never rejects. */
  find(settings: Settings, signal: AbortSignal): Promise<FoundSettings>;
}

/** The models of one server, and its kind. */
interface Found {
  readonly kind: ServerKind;
  readonly models: readonly string[];
}

/** Maximum models of one server. Further ones are left out. */
const MAX_MODELS = 16;

export function createModelFinder(transport: Transport): ModelFinder {
  /** The last answer of each server: a server that restarts keeps the names of its models. */
  const known = new Map<string, Found>();

  async function ask(backend: BackendSettings, signal: AbortSignal): Promise<Found | undefined> {
    const url = urlOf(backend);
    try {
      const found = await findServer(
        {
          url,
          model: backend.model,
          transport,
          ...(backend.engineKey !== undefined && { apiKey: backend.engineKey }),
          ...(backend.headers !== undefined && { headers: backend.headers }),
        },
        signal,
      );
      const models = servableModels(found).slice(0, MAX_MODELS);
      if (models.length > 0) known.set(url, { kind: found.kind, models });
      else if (isHostedKind(found.kind)) return { kind: found.kind, models: [DEFAULT_MODEL] };
    } catch {
      // The probe of its engine reports the reason.
    }
    return known.get(url);
  }

  return {
    async find(settings, signal) {
      const backends = toBackends(settings);
      if (!backends.some(({ findsModel }) => findsModel)) return { settings, isComplete: true };
      const answers = await Promise.all(
        backends.map(async (each) => (each.findsModel ? ask(each, signal) : undefined)),
      );
      const isMissing = backends.map(({ findsModel }, n) => findsModel && !answers[n]);
      if (answers.every((each) => each === undefined)) return { settings, isComplete: false };
      const all = [...new Set(answers.flatMap((each) => each?.models ?? []))];
      const entries = toEntries(settings).flatMap((entry, n) =>
        backends[n]?.findsModel === true
          ? // A server that is down is assumed to have the models of the other servers.
            toFoundEntries(entry, answers[n] ?? { kind: undefined, models: all })
          : [pickEntry(entry, settings.model)],
      );
      return {
        settings: { ...settings, backends: withAlias(entries) },
        isComplete: !isMissing.includes(true),
      };
    },
  };
}

/** URL of a backend without a model, which has a URL, or a kind with a default. */
function urlOf({ engine, url }: BackendSettings): string {
  if (url !== undefined || engine === "auto") return url ?? "";
  const entry = ENGINES[engine].url;
  return typeof entry === "object" ? entry.default : "";
}

/** Creates the entries. A configured name applies to the first model. */
function toFoundEntries(
  entry: BackendEntry,
  { kind, models }: { readonly kind: ServerKind | undefined; readonly models: readonly string[] },
): BackendEntry[] {
  const served = entry.servedName === undefined ? models : models.slice(0, 1);
  const engine = entry.engine === "auto" ? (kind ?? entry.engine) : entry.engine;
  return served.map((model) => ({
    ...pickEntry(entry, model),
    engine,
    servedName: entry.servedName ?? toModelName(model),
  }));
}

/** Copies the members of an entry, which may be the object of all settings. */
function pickEntry(entry: BackendEntry, model: string | undefined): BackendEntry {
  return {
    name: entry.name,
    engine: entry.engine,
    url: entry.url,
    model: entry.model ?? model,
    engineKey: entry.engineKey,
    servedName: entry.servedName,
    aliases: entry.aliases,
    contextLength: entry.contextLength,
    maxConcurrent: entry.maxConcurrent,
    tokenEndpoint: entry.tokenEndpoint,
    headers: entry.headers,
    extraBody: entry.extraBody,
  };
}

/** Adds the default name as an alias of the only model, so that an example from the docs works unchanged. */
function withAlias(entries: BackendEntry[]): BackendEntry[] {
  const names = new Set(entries.map(({ servedName, model }) => servedName ?? model));
  if (names.size !== 1 || names.has(DEFAULT_MODEL)) return entries;
  return entries.map((each) => ({ ...each, aliases: [...each.aliases, DEFAULT_MODEL] }));
}
