/** The chat at `/`. The page is public and names nothing: it asks the APIs, with the reader's key. */
import { Hono } from "hono";
import { isForBrowser } from "../api/pages/html.ts";
import { themeOf } from "../api/pages/theme.ts";
import type { ApiEnv } from "../api/request/client.ts";
import type { ServedPages } from "../pages/assets.ts";
import { PAGE_HEADERS } from "../pages/headers.ts";
import { CHAT_PAGE } from "./page-description.ts";

export interface ChatOptions {
  readonly assets: ServedPages;
  /** The inspector is on: the page links to it. */
  readonly hasInspector: boolean;
  /** Where clients reach the gateway, for the code. Undefined: where the page was requested. */
  readonly publicUrl: string | undefined;
}

export function chatRoutes({ assets, hasInspector, publicUrl }: ChatOptions): Hono<ApiEnv> {
  const routes = new Hono<ApiEnv>();
  routes.get("/", async (c, next) => {
    if (!isForBrowser(c)) return next();
    const theme = themeOf(c.req.header("cookie"));
    const html = await assets.html(CHAT_PAGE, {
      ...(theme !== undefined && { theme }),
      ...(hasInspector && { inspector: "on" }),
      ...(publicUrl !== undefined && { origin: publicUrl.replace(/\/+$/, "") }),
    });
    return c.html(html, 200, PAGE_HEADERS);
  });
  return routes;
}
