/** The chat at `/`. The page is public and contains no data: it uses the APIs, with the reader's key. */
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
  /** The page links to the inspector. */
  readonly hasInspector: boolean;
  /** The gateway's URL for clients, shown in code. Undefined: the origin of the page's request. */
  readonly publicUrl: string | undefined;
  /** Unused inference servers on this machine. Absent: the reader may not see them, or there was no search. */
  readonly foundEngines?: (() => readonly FoundEngine[]) | undefined;
}

export interface FoundEngine {
  /** Name of the server and its model: `ollama with gpt-oss:20b`. */
  readonly name: string;
  /** The command that starts the gateway with the server. */
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

/** Whether a proxy or a tunnel on this machine forwarded the request, which makes others' requests look like the operator's. */
function isForwarded({ req }: Context): boolean {
  return ["forwarded", "via", "x-forwarded-for"].some((name) => req.header(name) !== undefined);
}
