/**
 * Decides by its body whether a message is a call, where the header only suggests it: a tool's name stands in place of the
 * channel, or as the author of a result.
 *
 * The body is held back until it has decided, up to a limit.
 */

/** A call's body is a JSON object, or at least begins like one. */
export type CallProof = "object" | "beginning";

/** `toStart`: how either begins. */
export class CallDoubt<Start> {
  readonly toStart: (isCall: boolean) => Start;
  /** The body so far. */
  text = "";
  tokens = 0;
  readonly #proof: CallProof;
  readonly #maxLength: number;
  #isBlank = true;

  constructor(proof: CallProof, maxLength: number, toStart: (isCall: boolean) => Start) {
    this.toStart = toStart;
    this.#proof = proof;
    this.#maxLength = maxLength;
  }

  /** Adds text. Returns whether it is a call, as soon as that is certain. */
  push(text: string): boolean | undefined {
    this.text += text;
    if (this.#isBlank) {
      const first = text.trimStart()[0];
      if (first !== undefined) {
        this.#isBlank = false;
        if (first !== "{") return false;
        if (this.#proof === "beginning") return true;
      }
    }
    return this.text.length > this.#maxLength ? !this.#isBlank : undefined;
  }

  /** The body is complete. A call without arguments may have none. */
  end(): boolean {
    return this.#proof === "beginning" ? this.#isBlank : isJsonObject(this.text);
  }
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
