import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";
import { expect, test } from "vitest";
import { FixedPathRouter } from "../../src/api/fixed-path-router.ts";

const ROUTES: readonly (readonly [method: string, path: string])[] = [
  ["ALL", "/*"],
  ["GET", "/health"],
  ["ALL", "/v1/*"],
  ["POST", "/v1/chat/completions"],
  ["GET", "/v1/models/:model{.+}"],
  ["GET", "/v1/models"],
  ["POST", "/v1/responses/compact"],
  ["POST", "/v1/responses/:id/cancel"],
];

function withRoutes() {
  const router = new FixedPathRouter<string>();
  const reference = new SmartRouter<string>({ routers: [new RegExpRouter(), new TrieRouter()] });
  for (const [method, path] of ROUTES) {
    router.add(method, path, `${method} ${path}`);
    reference.add(method, path, `${method} ${path}`);
  }
  return { router, reference };
}

test("finds the routes that Hono finds, the first time and the second", () => {
  const { router, reference } = withRoutes();
  for (const path of [
    "/health",
    "/v1/chat/completions",
    "/v1/models",
    "/v1/models/a/b",
    "/v1/responses/compact",
    "/v1/responses/a/cancel",
    "/v1/x",
    "/",
  ]) {
    for (const method of ["GET", "POST", "PUT", "ALL", "BREW"]) {
      const expected = reference.match(method, path);
      expect(router.match(method, path), `${method} ${path}`).toEqual(expected);
      expect(router.match(method, path), `${method} ${path} again`).toEqual(expected);
    }
  }
});

test("keeps results only of paths without parameters, and of methods that are served", () => {
  const { router } = withRoutes();
  const isKept = (method: string, path: string) =>
    router.match(method, path) === router.match(method, path);
  expect(isKept("POST", "/v1/chat/completions")).toBe(true);
  expect(isKept("GET", "/v1/models")).toBe(true);
  expect(isKept("BREW", "/v1/models")).toBe(false);
  expect(isKept("GET", "/v1/models/a")).toBe(false);
  expect(isKept("GET", "/v1/unknown")).toBe(false);
});
