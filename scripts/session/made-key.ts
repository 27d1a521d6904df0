/** A key that `harmony-gateway key alice` makes while a recording runs: the page shows neither it nor its hash. */

/** Replacements of the key and its hash on the page, and in the commands of a scenario. */
export const SHOWN_KEY = "hg-…";
export const SHOWN_HASH = "alice:…";

export class MadeKey {
  #key = "";
  #hash = "";

  /** The output of a command without the key, which is kept. */
  hide(printed: string): string {
    this.#key = /\bhg-[\w-]{43}/.exec(printed)?.[0] ?? this.#key;
    this.#hash = /\balice:\w{64}\b/.exec(printed)?.[0] ?? this.#hash;
    if (this.#key === "") return printed;
    return printed.replaceAll(this.#key, SHOWN_KEY).replaceAll(this.#hash, SHOWN_HASH);
  }

  /** A command as it is typed. */
  fill(command: string): string {
    return command.replaceAll(SHOWN_KEY, this.#key).replaceAll(SHOWN_HASH, this.#hash);
  }
}
