/** The generation that serves requests, and its replacement when settings are read again. */
import { withoutSecrets } from "../../config/resolve.ts";
import type { Settings } from "../../config/settings.ts";
import { describeBackends } from "./describe-backends.ts";
import type { FetchHandler } from "./direct-sse.ts";
import { createGeneration, type Generation, type Shared } from "./generation.ts";
import { keepFixed } from "./reload.ts";

export class Generations {
  readonly #settings: Settings;
  readonly #shared: Shared;
  #current: Generation;
  #reloading = Promise.resolve();
  /** The last settings that were read and not yet tried. */
  #wanted: Settings | undefined;
  /** Aborted when the settings that are being tried are no longer wanted. */
  #trying = new AbortController();

  constructor(settings: Settings, shared: Shared) {
    this.#settings = settings;
    this.#shared = shared;
    this.#current = createGeneration(settings, shared);
  }

  readonly fetch: FetchHandler = (request, env) => this.#current.fetch(request, env);

  monitor(): void {
    this.#current.monitor();
  }

  /** Later settings replace those that are still being tried. */
  reload(settings: Settings): Promise<void> {
    this.#wanted = settings;
    this.#trying.abort();
    const done = this.#reloading.then(() => this.#tryWanted());
    this.#reloading = done.catch(() => {});
    return done;
  }

  /** Ends monitoring and a reload that is being tried. Requests in flight continue. */
  async stop(): Promise<void> {
    this.#wanted = undefined;
    this.#trying.abort();
    await this.#reloading;
    await this.#current.stopMonitoring();
  }

  retire(): Promise<void> {
    return this.#current.retire();
  }

  async #tryWanted(): Promise<void> {
    if (this.#wanted === undefined) return;
    const { settings, restartFor } = keepFixed(this.#settings, this.#wanted);
    this.#wanted = undefined;
    const { signal } = (this.#trying = new AbortController());
    const successor = createGeneration(settings, this.#shared);
    await successor.firstProbe(settings.connectTimeoutMs, signal);
    if (signal.aborted) return successor.retire();
    const former = this.#current;
    this.#current = successor;
    await former.stopMonitoring();
    await former.retire();
    successor.monitor();
    const { log, models } = this.#shared;
    log.debug("settings", withoutSecrets(settings));
    log.info("settings read again", {
      ...(restartFor.length > 0 && { restartFor }),
      backends: describeBackends(settings, models),
    });
  }
}
