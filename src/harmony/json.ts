/**
 * JSON that keeps what `JSON.parse` loses: the order of all keys and the spelling of numbers.
 *
 * Tool signatures are printed from the client's schema in source order, and defaults with the number
 * as it was written (openai/harmony reads them with a JSON crate that keeps both).
 */

/** A JSON value. Objects are maps in source order; numbers keep their source text. */
export type Json = null | boolean | string | JsonNumber | readonly Json[] | JsonObject;

export type JsonObject = ReadonlyMap<string, Json>;

/** A number by its spelling, for instance `1.0` or `18446744073709551615`. */
export interface JsonNumber {
  readonly number: string;
}
