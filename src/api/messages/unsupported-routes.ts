/**
 * Paths of Anthropic's API that are not supported, and one that clients request if their base URL is wrong.
 */
import { Hono } from "hono";
import type { ApiEnv } from "../request/client.ts";
import { noSuchPath } from "../errors.ts";

export function unsupportedRoutes(): Hono<ApiEnv> {
  const routes = new Hono<ApiEnv>();
  for (const [path, name] of Object.entries(UNSUPPORTED)) {
    routes.all(path, () => {
      throw noSuchPath(`This gateway does not support ${name}.`);
    });
  }
  routes.all("/v1/*", () => {
    throw noSuchPath(
      "The path contains /v1 twice. Anthropic's clients append /v1 themselves: configure the base URL without it.",
    );
  });
  return routes;
}

const UNSUPPORTED: Readonly<Record<string, string>> = {
  "/messages/batches": "message batches",
  "/messages/batches/*": "message batches",
  "/complete": "text completions",
};
