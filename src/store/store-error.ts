/** Why the store did not do what a request depends on. */

export type StoreErrorKind =
  /** It failed, did not answer in time, or has just failed several times and is not asked. */
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
