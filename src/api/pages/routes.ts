/** Public pages and the OpenAPI document. They need no key and reveal nothing that a key protects. */
import { Hono } from "hono";
import { getCookie } from "hono/cookie";
import type { Models } from "../../models/models.ts";
import type { ApiEnv } from "../request/client.ts";
import { isForBrowser, PAGE_HEADERS, STYLE, STYLE_PATH } from "./html.ts";
import { THEME_COOKIE, toTheme } from "./theme.ts";

export interface PageOptions {
  readonly models: Models;
  readonly hasKeys: boolean;
  /** The inspector is on: the landing page links to it. */
  readonly hasInspector: boolean;
  /** The chat is at `/`. */
  readonly hasChat: boolean;
  /** Serve the landing page at `/`. */
  readonly hasLinks: boolean;
  /** The gateway's address for clients. Undefined: the address at which the page was requested. */
  readonly publicUrl: string | undefined;
}

export function pageRoutes({
  models,
  hasKeys,
  hasInspector,
  hasChat,
  hasLinks,
  publicUrl,
}: PageOptions): Hono<ApiEnv> {
  const routes = new Hono<ApiEnv>();
  const address = publicUrl?.replace(/\/+$/, "");
  // The pages are loaded with their first request: the start needs none of them.
  routes.get("/", async (c) => {
    if (!hasLinks || !isForBrowser(c)) return c.notFound();
    const origin = address ?? new URL(c.req.url).origin;
    const { toLandingPage } = await import("./landing.ts");
    return c.html(toLandingPage({ origin, models, hasKeys, hasInspector }), 200, PAGE_HEADERS);
  });
  routes.get("/api", async (c) => {
    const { toApiPage } = await import("./api-page.ts");
    const origin = address ?? new URL(c.req.url).origin;
    const theme = toTheme(getCookie(c, THEME_COOKIE));
    const headers = { ...PAGE_HEADERS, vary: "cookie" };
    return c.html(toApiPage({ origin, hasChat, hasInspector, theme }), 200, headers);
  });
  routes.get("/openapi.json", async (c) => {
    const { openApiDocument, withAddress } = await import("./openapi.ts");
    return c.json(withAddress(openApiDocument(), address));
  });
  routes.get(STYLE_PATH, (c) => {
    return c.body(STYLE, 200, { ...PAGE_HEADERS, "content-type": "text/css; charset=utf-8" });
  });
  return routes;
}
