/**
 * A value made when it is first asked for, and kept.
 *
 * Most often the part of a schema: building all schemas took a Worker half of its start-up, before a request says
 * which it needs. Whole schemas are `z.lazy` instead, so that those who parse with them need not know.
 */
export function lazy<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
