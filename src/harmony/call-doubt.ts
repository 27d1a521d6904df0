/**
 * Decides by the body whether a message is a call, if the header only suggests it: a tool's name is in place of the
 * channel, or the author of a result.
 *
 * The body is held back until the decision, up to a limit.
 */

/** A call's body is a JSON object, or at least begins like one. */
export type CallProof = "object" | "beginning";

/** Decides about one message. `toStart` creates the beginning of either kind. */
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

  /** Adds text. Returns whether the message is a call, as soon as that is certain. */
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

  /** Decides when the body is complete. A call without arguments may have no body. */
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
