/** Closes resources in the reverse order of their opening. Node 22 has no `AsyncDisposableStack`. */

export class CloseStack {
  readonly #closers: (() => unknown)[] = [];

  /** Closes the resource with the stack. */
  use<R extends { close(): unknown }>(resource: R): R {
    this.defer(() => resource.close());
    return resource;
  }

  /** Calls and awaits `close` when the stack is closed. */
  defer(close: () => unknown): void {
    this.#closers.push(close);
  }

  /** Closes everything, also after a failure. Rejects with the first one. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (let close = this.#closers.pop(); close; close = this.#closers.pop()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
