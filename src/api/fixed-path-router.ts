/**
 * Finds the routes of a path without parameters once. Hono's router that walks a tree searches with each request and sorts
 * what it has found. Its fast one refuses a fixed path beside a parameter, such as `/responses/compact` beside
 * `/responses/:id/cancel`. Hono would find that out by giving it all routes, in the first request of every Worker.
 */
import type { Result, Router } from "hono/router";
import { TrieRouter } from "hono/router/trie-router";

/** As many results are kept as there are pairs of such a path and a method that some route names. */
export class FixedPathRouter<T> implements Router<T> {
  readonly name = "FixedPathRouter";
  readonly #router: Router<T> = new TrieRouter<T>();
  readonly #methods = new Set<string>();
  /** By path and method. */
  readonly #found = new Map<string, Map<string, Result<T>>>();

  add(method: string, path: string, handler: T): void {
    this.#router.add(method, path, handler);
    this.#methods.add(method);
    if (!/[*:]/.test(path)) this.#found.set(path, new Map());
  }

  match(method: string, path: string): Result<T> {
    const found = this.#found.get(path);
    const known = found?.get(method);
    if (known !== undefined) return known;
    const result = this.#router.match(method, path);
    if (this.#methods.has(method)) found?.set(method, result);
    return result;
  }
}
