/** Failures of a store: the errors of requests, and those that a store throws to its guard. */

export type StoreErrorKind =
  /** It failed, timed out, or is not used for a while after several failures. */
  | "unavailable"
  /** The value is larger than an entry may be. */
  | "too-large";

export class StoreError extends Error {
  readonly kind: StoreErrorKind;

  constructor(kind: StoreErrorKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "StoreError";
    this.kind = kind;
  }
}

/** The store has answered, with an error: this operation failed, and others may succeed. Any other rejection is an outage. */
export class StoreRefusal extends Error {
  /** The name of the error, in the store's words: `OOM`. */
  readonly code: string;

  constructor(code: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "StoreRefusal";
    this.code = code;
  }
}

export function isRefusal(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof StoreRefusal && codes.includes(error.code);
}
