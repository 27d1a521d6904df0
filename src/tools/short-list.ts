/** Schemas for lists from third parties. */
import * as z from "zod";

/** A list that is cut to its first elements before any is parsed: a megabyte of JSON can hold hundreds of thousands. */
export function shortList<T extends z.ZodType>(element: T, most: number) {
  return z.preprocess(
    (value) => (Array.isArray(value) ? value.slice(0, most) : value),
    z.array(element),
  );
}
