/** Parts of the page that typing does not need. Each is loaded once, beside the page or when it is wanted. */
import { update } from "./state.ts";

class LatePart<T> {
  /** Undefined: not loaded yet. */
  loaded: T | undefined;
  readonly #import: () => Promise<T>;

  constructor(load: () => Promise<T>) {
    this.#import = load;
  }

  /** Rejects without the gateway; the next call tries again. */
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
/** Code, settings and events: only where the reader opens them. */
export const panes = new LatePart(() => import("./view/panes.ts"));
