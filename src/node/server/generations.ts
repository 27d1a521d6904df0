/**
 * The generation that serves requests, and its replacement when settings are reloaded or models are found. The latest settings
 * take precedence over a generation's findings.
 */
import { withoutSecrets } from "../../config/without-secrets.ts";
import type { SettingName, Settings } from "../../config/settings.ts";
import {
  createModelFinder,
  type FoundSettings,
  type ModelFinder,
} from "../../models/find-models.ts";
import type { ModelOptions, Models } from "../../models/models.ts";
import { sleep } from "../../streams/timers.ts";
import { describeForLog } from "../../telemetry/describe-for-log.ts";
import type { FetchHandler } from "./direct-sse.ts";
import { createGeneration, type Generation, type Shared } from "./generation.ts";
import { toBackends } from "../../config/backends.ts";
import { toPublicUrl } from "../../engines/server-url.ts";
import { contradictions } from "../../config/contradictions.ts";
import { describedSettings } from "../../config/describe.ts";
import { SettingsError } from "../../config/resolve.ts";

/** Maximum delay of the start by an unresponsive server. */
const FIND_TIMEOUT_MS = 2_000;
/** First and longest wait before a server is queried for its models again. The wait doubles each time. */
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;

export class Generations {
  readonly #settings: Settings;
  readonly #shared: Shared;
  readonly #finder: ModelFinder;
  #current: Generation;
  /** The settings of the current generation, with the models that were found. */
  #served: FoundSettings;
  /** Tries one generation after the other. Never rejects. */
  #tried: Promise<unknown> = Promise.resolve();
  /** The latest settings that were read and not yet tried. */
  #wanted: Kept | undefined;
  /** Aborted when the settings that are being tried are no longer wanted. */
  #trying = new AbortController();
  /** Aborted when other settings are served. */
  #finding = new AbortController();

  /** Creates the first generation. If the settings name no models, the servers are queried first. */
  static async open(settings: Settings, shared: Shared): Promise<Generations> {
    const finder = createModelFinder(shared.transport);
    return new Generations(settings, shared, finder, await find(finder, settings, shared));
  }

  private constructor(
    settings: Settings,
    shared: Shared,
    finder: ModelFinder,
    served: FoundSettings,
  ) {
    this.#settings = settings;
    this.#shared = shared;
    this.#finder = finder;
    this.#served = served;
    this.#current = createGeneration(served.settings, shared);
    this.#current.enforce();
  }

  readonly fetch: FetchHandler = (request, env) => this.#current.fetch(request, env);

  get models(): Models {
    return this.#current.models;
  }

  /** Backends as shown in the log. */
  get backends() {
    return describeBackends(this.#served.settings, this.#shared.models);
  }

  monitor(): void {
    this.#monitor({ settings: this.#settings, restartFor: [] });
  }

  /**
   * Later settings replace those that are still being tried.
   *
   * @throws SettingsError when they contradict a setting that cannot change. The running settings then stay.
   */
  async reload(settings: Settings): Promise<void> {
    this.#wanted = keepFixed(this.#settings, settings);
    this.#trying.abort();
    await this.#inTurn(async () => {
      const wanted = this.#wanted;
      this.#wanted = undefined;
      if (wanted !== undefined) await this.#try(wanted, "settings read again");
    });
  }

  /** Ends monitoring, and a reload in progress. Requests in flight continue. */
  async stop(): Promise<void> {
    this.#wanted = undefined;
    this.#trying.abort();
    this.#finding.abort();
    await this.#tried;
    await this.#current.stopMonitoring();
  }

  retire(): Promise<void> {
    return this.#current.retire();
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#tried.then(work);
    this.#tried = done.catch(() => {});
    return done;
  }

  /** Applies these settings, unless newer ones were read by the time their engines have been probed. */
  async #try(kept: Kept, event: "settings read again" | "models found"): Promise<void> {
    const { settings, restartFor } = kept;
    const { log } = this.#shared;
    const { signal } = (this.#trying = new AbortController());
    const served = await find(this.#finder, settings, this.#shared);
    if (signal.aborted) return;
    const successor = createGeneration(served.settings, this.#shared);
    await successor.firstProbe(settings.connectTimeoutMs, signal);
    if (signal.aborted) return successor.retire();
    const former = this.#current;
    this.#finding.abort();
    this.#current = successor;
    successor.enforce();
    this.#served = served;
    log.debug("settings", withoutSecrets(served.settings));
    log.info(event, {
      ...(restartFor.length > 0 && { restartFor }),
      keys: settings.keys.length,
      backends: this.backends,
    });
    this.#monitor(kept);
    await former.stopMonitoring();
    await former.retire();
  }

  #monitor(kept: Kept): void {
    if (this.#served.isComplete) return this.#current.monitor();
    this.#finding = new AbortController();
    const { signal } = this.#finding;
    const ready = new AbortController();
    // A model under the default name is not reported: the server's models are about to replace it.
    const isDefault = this.#served.settings === kept.settings;
    this.#current.monitor(isDefault ? () => ready.abort() : undefined);
    this.#findLater(kept, ready.signal, signal).catch((error: unknown) => {
      this.#shared.log.error("failure", describeForLog(error));
    });
  }

  /** Queries the servers until each has listed its models, and at once when an engine becomes ready. */
  async #findLater(kept: Kept, ready: AbortSignal, signal: AbortSignal): Promise<void> {
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
      const awake = ready.aborted ? signal : AbortSignal.any([signal, ready]);
      await sleep(waitMs, awake);
      if (signal.aborted) return;
      const { isComplete } = await find(this.#finder, kept.settings, this.#shared);
      if (signal.aborted) return;
      if (!isComplete) continue;
      // Findings of a generation never replace settings that were read since, even if those settings fail.
      await this.#inTurn(async () => {
        if (signal.aborted || this.#wanted !== undefined) return;
        await this.#try(kept, "models found");
      });
      if (signal.aborted) return;
    }
  }
}

async function find(
  finder: ModelFinder,
  settings: Settings,
  { models }: Shared,
): Promise<FoundSettings> {
  if (models !== undefined) return { settings, isComplete: true };
  return finder.find(settings, AbortSignal.timeout(FIND_TIMEOUT_MS));
}

/** Backends as shown in the log: no keys, and URLs without credentials. */
function describeBackends(settings: Settings, models: readonly ModelOptions[] | undefined) {
  if (models !== undefined) {
    return models.map(({ id, engine }) => ({
      model: id,
      backend: engine.name,
      engine: engine.name,
    }));
  }
  return toBackends(settings).map(({ servedName, name, engine, url }) => ({
    model: servedName,
    backend: name,
    engine,
    ...(url !== undefined && { url: toPublicUrl(url) }),
  }));
}

/** Settings of a reload (SIGHUP): which of them can change while the gateway runs. */
interface Kept {
  readonly settings: Settings;
  /** Fixed settings whose new value has no effect before a restart. */
  readonly restartFor: readonly SettingName[];
}

/**
 * The new settings with the fixed ones unchanged. Both are checked together: a file without keys is valid with
 * a loopback address, but must not open a gateway that already listens on a network.
 *
 * @throws SettingsError
 */
function keepFixed(running: Settings, wanted: Settings): Kept {
  const fixed = describedSettings().flatMap((each) => (each.fixed ? each.name : []));
  const kept = Object.fromEntries(fixed.map((name) => [name, running[name]]));
  const settings = { ...wanted, ...kept };
  const restartFor = fixed.filter(
    (name) => JSON.stringify(wanted[name]) !== JSON.stringify(running[name]),
  );
  const problems = contradictions(settings, new Map(), { public: false });
  if (problems.length === 0) return { settings, restartFor };
  throw new SettingsError([
    ...problems,
    `The new settings are judged with the present value of ${restartFor.join(", ")}, which only a restart changes.`,
  ]);
}
