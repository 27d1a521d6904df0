/** Failures of a store: the errors of requests, and the errors that a store throws to its guard. */

export type StoreErrorKind =
  /** The store failed, timed out, or is not used for a while after several failures. */
  | "unavailable"
  /** The value exceeds the maximum size of an entry. */
  | "too-large";

export class StoreError extends Error {
  readonly kind: StoreErrorKind;

  constructor(kind: StoreErrorKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "StoreError";
    this.kind = kind;
  }
}

/** The store has answered with an error: this operation failed, and others may succeed. Any other rejection is an outage. */
export class StoreRefusal extends Error {
  /** The store's own name of the error: `OOM`. */
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
