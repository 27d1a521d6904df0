/** The served models: names for clients, each with its engine. */
import type { OnBackendChange } from "../engines/pool/monitor.ts";
import type { Capabilities, Engine, EngineProbe } from "../engines/engine.ts";
import type { Pool, PoolState } from "../engines/pool.ts";
import type { Message } from "../harmony/conversation.ts";
import type { Layout } from "../harmony/message-layout.ts";
import type { CacheSalts } from "../turn/prompt/cache-salt.ts";
import { countPromptTokens } from "../turn/count.ts";
import { renderPrompt } from "../turn/prompt/prompt.ts";
import type { OnFact } from "../turn/facts.ts";
import { runTurn } from "../turn/run.ts";
import type { RunDeps } from "../turn/create-turn-state.ts";
import { createPause, type Pause } from "../streams/slices.ts";
import { DEFAULT_STEERING, type Steering } from "../turn/steering/settings.ts";
import { limitTokens } from "../turn/sampling/token-limits.ts";
import type { Turn, TurnEvent } from "../turn/turn.ts";
import { runAfterProbe } from "./first-probe.ts";
import { spellings } from "../config/backends.ts";
import type { Preset } from "../turn/preset.ts";
import { findByName, type NameSuffixes } from "./model-name.ts";

/** The operator's options of one model. */
export interface ModelOptions {
  /** The name in `/v1/models`, for instance `openai/gpt-oss-20b`. */
  readonly id: string;
  /** Additional names. */
  readonly aliases?: readonly string[];
  /** One engine, or a pool of backends. */
  readonly engine: Engine | Pool;
  /** Tokens of prompt and completion together. Absent: as found by the engine's probe. */
  readonly contextLength?: number;
  readonly layout?: Layout;
  /** The value of OpenRouter's `provider` field. Default: the engine's name. */
  readonly provider?: string;
}

/** Dependencies of all models. */
export interface ModelsDeps {
  /** Steering of turns. Default: {@link DEFAULT_STEERING}. */
  readonly steering?: Steering;
  /** Creates a tool call's id: `call_` and an unguessable suffix. */
  readonly newCallId: () => string;
  /** Pauses for the event loop between slices of long work. Absent: by a timer, which every runtime has. */
  readonly pause?: Pause;
  /** Salts of prefix caches. Absent: engines share one prefix cache between all tenants. */
  readonly cacheSalts?: CacheSalts;
  /** Further names, each with settings of a request. Presets of models that are not served are left out. Default: none. */
  readonly presets?: readonly Preset[];
}

/** The result of the last probe. */
export type ModelStatus =
  | { readonly state: "unknown" }
  | { readonly state: "ready"; readonly probe: EngineProbe }
  | { readonly state: "unavailable"; readonly reason: string };

export interface Model {
  readonly id: string;
  readonly provider: string;
  readonly capabilities: Capabilities;
  /** Context length in tokens. Undefined until the settings or the engine define it. */
  readonly contextLength: number | undefined;
  readonly status: ModelStatus;
  /** The state of its backends. Undefined for a model with a single engine instead of a pool. */
  readonly pool: PoolState | undefined;
  /** Queries the engine's version and capabilities. Never rejects: the outcome is the new `status`. */
  probe(signal: AbortSignal): Promise<ModelStatus>;
  /** Runs health checks until the signal aborts. Resolves immediately if there is no pool. */
  watch(everyMs: number, signal: AbortSignal, onChange: OnBackendChange): Promise<void>;
  /**
   * Counts the tokens of a conversation as this model's prompt, without a request to the engine. Rejects with a `TurnError` when
   * the prompt is so far over the context length that counting stops early.
   */
  countPromptTokens(
    messages: readonly Message[],
    tenant: string,
    signal?: AbortSignal,
  ): Promise<number>;
  /** Like {@link countPromptTokens}, for a turn, including the message prefixes that the model continues. */
  countTurnTokens(turn: Turn, signal: AbortSignal): Promise<number>;
  /** @param onFact absent: no facts are created. */
  run(turn: Turn, signal: AbortSignal, onFact?: OnFact): AsyncIterable<TurnEvent>;
}

export interface Models {
  readonly all: readonly Model[];
  readonly presets: readonly FoundPreset[];
  /**
   * The model with this name, and the settings of its preset and suffixes. `@preset/name` is OpenRouter's form of a preset's
   * name, also after the name of another model.
   */
  find(name: string): FoundModel | undefined;
}

export interface FoundModel extends NameSuffixes {
  readonly model: Model;
  readonly preset?: Preset;
}

export interface FoundPreset {
  readonly model: Model;
  readonly preset: Preset;
}

/** A model, or a preset of a model, under its name in lists. */
export interface ListedModel extends Pick<FoundModel, "model" | "preset"> {
  readonly name: string;
}

/** The entries for clients: the models first, then the presets. */
export function listedModels({ all, presets }: Models): readonly ListedModel[] {
  return [
    ...all.map((model) => ({ name: model.id, model })),
    ...presets.flatMap((each) =>
      each.preset.unlisted ? [] : [{ name: each.preset.name, ...each }],
    ),
  ];
}

/** Runs a turn of a model. May observe its events, change it or stop it. `run` is the model's own method. */
export type TurnHook = (
  model: Model,
  turn: Turn,
  signal: AbortSignal,
  run: Model["run"],
) => AsyncIterable<TurnEvent>;

/** Wraps models so that the hook runs each turn. */
export function withTurnHook(models: Models, hook: TurnHook): Models {
  const hooked = new Map(models.all.map((model) => [model, hookTurns(model, hook)]));
  return {
    all: [...hooked.values()],
    presets: models.presets.flatMap(({ model, preset }) => {
      const found = hooked.get(model);
      return found ? [{ model: found, preset }] : [];
    }),
    find(name) {
      const found = models.find(name);
      const model = found && hooked.get(found.model);
      return model && { ...found, model };
    },
  };
}

/** Wraps a model. Its status and capabilities change, so they are read from it each time. */
export function hookTurns(model: Model, hook: TurnHook): Model {
  return {
    id: model.id,
    get provider() {
      return model.provider;
    },
    get capabilities() {
      return model.capabilities;
    },
    get contextLength() {
      return model.contextLength;
    },
    get status() {
      return model.status;
    },
    get pool() {
      return model.pool;
    },
    probe: (signal) => model.probe(signal),
    watch: (everyMs, signal, onChange) => model.watch(everyMs, signal, onChange),
    countPromptTokens: (messages, tenant, signal) =>
      model.countPromptTokens(messages, tenant, signal),
    countTurnTokens: (turn, signal) => model.countTurnTokens(turn, signal),
    run: (turn, signal, outer) =>
      hook(model, turn, signal, (hooked, until, inner) =>
        model.run(hooked, until, joinListeners(inner, outer)),
      ),
  };
}

/** Combines two listeners. */
export function joinListeners(
  inner: OnFact | undefined,
  outer: OnFact | undefined,
): OnFact | undefined {
  if (inner === undefined || outer === undefined) return inner ?? outer;
  return (fact) => {
    inner(fact);
    outer(fact);
  };
}

export function createModels(options: readonly ModelOptions[], deps: ModelsDeps): Models {
  const pause = deps.pause ?? createPause();
  const models = options.map((each) => createModel(each, { ...deps, pause }));
  const byName = new Map<string, { readonly model: Model; readonly preset?: Preset }>();
  const addName = (name: string, found: { readonly model: Model; readonly preset?: Preset }) => {
    for (const spelling of spellings(name)) {
      if (!byName.has(spelling)) byName.set(spelling, found);
    }
  };
  for (const [index, model] of models.entries()) {
    for (const name of [model.id, ...(options[index]?.aliases ?? [])]) addName(name, { model });
  }
  const presets = (deps.presets ?? []).flatMap((preset) => {
    const model = byName.get(preset.model)?.model;
    return model ? [{ model, preset }] : [];
  });
  for (const each of presets) addName(each.preset.name, each);
  const findModel = (name: string): FoundModel | undefined => {
    const known = findByName(byName, name);
    if (known === undefined) return undefined;
    const { found, ...suffixes } = known;
    return { ...found, ...suffixes };
  };
  return {
    all: models,
    presets,
    find: (name) => (name.includes(PRESET_MARK) ? findMarked(name, findModel) : findModel(name)),
  };
}

const PRESET_MARK = "@preset/";

/**
 * Finds `@preset/review` or `gpt-oss-20b@preset/review`: a model's name before the mark takes precedence over the preset's own
 * model.
 */
function findMarked(name: string, find: Models["find"]): FoundModel | undefined {
  const at = name.indexOf(PRESET_MARK);
  const found = find(name.slice(at + PRESET_MARK.length));
  if (found?.preset === undefined || at === 0) return found?.preset && found;
  const base = find(name.slice(0, at));
  if (base === undefined || base.preset !== undefined) return undefined;
  return {
    ...found,
    model: base.model,
    effort: base.effort ?? found.effort,
    suffixes: new Set([...base.suffixes, ...found.suffixes]),
  };
}

function createModel(options: ModelOptions, deps: ModelsDeps & { readonly pause: Pause }): Model {
  const { layout = "guide" } = options;
  const { pause } = deps;
  const pool = "watch" in options.engine ? options.engine : undefined;
  // The engines of a pool have limits already.
  const engine = pool ?? limitTokens(options.engine);
  let status: ModelStatus = { state: "unknown" };
  /** Resolves when the first probe has ended, or found a context length. Undefined: no first probe is running. */
  let firstProbe: Promise<void> | undefined;
  const model: Model = {
    id: options.id,
    get provider() {
      return options.provider ?? engine.name;
    },
    get capabilities() {
      return engine.capabilities;
    },
    get contextLength() {
      const probed = status.state === "ready" ? status.probe.contextLength : undefined;
      return options.contextLength ?? pool?.contextLength ?? probed;
    },
    get pool() {
      return pool?.state;
    },
    get status() {
      return status;
    },
    async probe(signal) {
      const settled = Promise.withResolvers<void>();
      if (status.state === "unknown") firstProbe = settled.promise;
      try {
        const probe = pool ? pool.probe(signal, settled.resolve) : engine.probe(signal);
        status = { state: "ready", probe: await probe };
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        status = { state: "unavailable", reason };
      }
      firstProbe = undefined;
      settled.resolve();
      return status;
    },
    watch: async (everyMs, signal, onChange) => pool?.watch(everyMs, signal, onChange),
    async countPromptTokens(messages, tenant, signal) {
      const { contextLength } = model;
      return (await renderPrompt(messages, { layout, tenant, contextLength, pause, signal }))
        .length;
    },
    countTurnTokens: (turn, signal) => countPromptTokens(turn, runDeps(), signal),
    run(turn, signal, onFact) {
      const run = () => runTurn(turn, { ...runDeps(), onFact }, signal);
      if (firstProbe === undefined || model.contextLength !== undefined) return run();
      return runAfterProbe(firstProbe, run, signal);
    },
  };
  const runDeps = (): RunDeps => ({
    engine,
    contextLength: model.contextLength,
    layout,
    steering: deps.steering ?? DEFAULT_STEERING,
    newCallId: deps.newCallId,
    pause,
    cacheSalts: deps.cacheSalts,
  });
  return model;
}
