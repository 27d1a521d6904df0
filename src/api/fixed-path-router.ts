/**
 * Finds the routes of a path without parameters once. Hono's routers search with each request: routes like `*` keep the
 * fast one from being used here, and the other one walks a tree and sorts what it has found.
 */
import type { Result, Router } from "hono/router";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";

/** As many results are kept as there are pairs of such a path and a method that some route names. */
export class FixedPathRouter<T> implements Router<T> {
  readonly name = "FixedPathRouter";
  readonly #router: Router<T> = new SmartRouter<T>({
    routers: [new RegExpRouter(), new TrieRouter()],
  });
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
