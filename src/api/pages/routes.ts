/** Public pages and the OpenAPI document. They need no key and reveal nothing that a key protects. */
import { Hono } from "hono";
import type { Models } from "../../models/models.ts";
import type { ApiEnv } from "../request/client.ts";
import { apiPage } from "./api-page.ts";
import { isForBrowser, PAGE_HEADERS, STYLE, STYLE_PATH } from "./html.ts";
import { toLandingPage } from "./landing.ts";
import { openApiDocument } from "./openapi.ts";

export interface PageOptions {
  readonly models: Models;
  readonly hasKeys: boolean;
  /** The inspector is on: the landing page links to it. */
  readonly hasInspector: boolean;
  /** Serve the landing page at `/`. */
  readonly hasLinks: boolean;
  /** Where clients reach the gateway. Undefined: where the page was requested. */
  readonly publicUrl: string | undefined;
}

export function pageRoutes({
  models,
  hasKeys,
  hasInspector,
  hasLinks,
  publicUrl,
}: PageOptions): Hono<ApiEnv> {
  const routes = new Hono<ApiEnv>();
  const address = publicUrl?.replace(/\/+$/, "");
  routes.get("/", (c) => {
    if (!hasLinks || !isForBrowser(c)) return c.notFound();
    const origin = address ?? new URL(c.req.url).origin;
    return c.html(toLandingPage({ origin, models, hasKeys, hasInspector }), 200, PAGE_HEADERS);
  });
  routes.get("/api", (c) => c.html(apiPage(), 200, PAGE_HEADERS));
  routes.get("/openapi.json", (c) =>
    // Without it, the document's clients send requests to the root of the host that they read it from.
    c.json({ ...openApiDocument(), ...(address !== undefined && { servers: [{ url: address }] }) }),
  );
  routes.get(STYLE_PATH, (c) => {
    return c.body(STYLE, 200, { ...PAGE_HEADERS, "content-type": "text/css; charset=utf-8" });
  });
  return routes;
}
