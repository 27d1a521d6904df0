/** The chat at `/`. The page is public and names nothing: it asks the APIs, with the reader's key. */
import { type Context, Hono } from "hono";
import { getCookie } from "hono/cookie";
import { isForBrowser } from "../api/pages/html.ts";
import { THEME_COOKIE, toTheme } from "../api/pages/theme.ts";
import type { ApiEnv } from "../api/request/client.ts";
import type { ServedPages } from "./assets.ts";
import { PAGE_HEADERS } from "./headers.ts";
import { CHAT_PAGE } from "./chat-page.ts";

export interface ChatOptions {
  readonly assets: ServedPages;
  /** The inspector is on: the page links to it. */
  readonly hasInspector: boolean;
  /** Where clients reach the gateway, for the code. Undefined: where the page was requested. */
  readonly publicUrl: string | undefined;
  /** Inference servers on this machine that are not used. Absent: the reader may not know them, or nobody has looked. */
  readonly foundEngines?: (() => readonly FoundEngine[]) | undefined;
}

export interface FoundEngine {
  /** `ollama with gpt-oss:20b` */
  readonly name: string;
  /** Starts the gateway with it. */
  readonly command: string;
}

export function chatRoutes({
  assets,
  hasInspector,
  publicUrl,
  foundEngines = () => [],
}: ChatOptions): Hono<ApiEnv> {
  const routes = new Hono<ApiEnv>();
  routes.get("/", async (c, next) => {
    if (!isForBrowser(c)) return next();
    const found = isForwarded(c) ? [] : foundEngines();
    const theme = toTheme(getCookie(c, THEME_COOKIE));
    const html = await assets.html(CHAT_PAGE, {
      ...(theme !== undefined && { theme }),
      ...(found.length > 0 && { found: JSON.stringify(found) }),
      ...(hasInspector && { inspector: "on" }),
      ...(publicUrl !== undefined && { origin: publicUrl.replace(/\/+$/, "") }),
    });
    return c.html(html, 200, PAGE_HEADERS);
  });
  return routes;
}

/** A proxy or a tunnel on this machine makes the requests of others look like the operator's. */
function isForwarded({ req }: Context): boolean {
  return ["forwarded", "via", "x-forwarded-for"].some((name) => req.header(name) !== undefined);
}
