/** Schemas for lists from third parties. */
import * as z from "zod";

/** Only the first elements, before any is read: a megabyte of JSON holds hundreds of thousands. */
export function shortList<T extends z.ZodType>(element: T, most: number) {
  return z.preprocess(
    (value) => (Array.isArray(value) ? value.slice(0, most) : value),
    z.array(element),
  );
}
