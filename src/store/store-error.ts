/** A store operation that a request depends on has failed. */

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
