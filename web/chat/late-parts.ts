/** Parts of the page that typing does not need. Each is loaded once, in the background or on demand. */
import { update } from "./state.ts";

class LatePart<T> {
  /** The loaded part. Undefined: not loaded yet. */
  loaded: T | undefined;
  readonly #import: () => Promise<T>;

  constructor(load: () => Promise<T>) {
    this.#import = load;
  }

  /** Loads the part. Rejects without the gateway; the next call retries. */
  async load(): Promise<T> {
    if (this.loaded === undefined) {
      this.loaded = await this.#import();
      update({});
    }
    return this.loaded;
  }
}

/** Most of the page: messages, sending, files, dialogs. */
export const later = new LatePart(() => import("./later.ts"));
export const markdownParser = new LatePart(() => import("./markdown.ts"));
/** Code, settings and events: loaded when the reader opens them. */
export const panes = new LatePart(() => import("./view/panes.ts"));
