/** The files of all pages, at `/app/VERSION/PATH`. They are public code without data. */
import { Hono } from "hono";
import type { ApiEnv } from "../api/request/client.ts";
import type { PageAssets } from "./assets.ts";
import { FILE_HEADERS } from "./headers.ts";

export function assetRoutes(fileOf: PageAssets["file"]): Hono<ApiEnv> {
  const routes = new Hono<ApiEnv>();
  routes.get("/app/:version/:path{.+}", async (c) => {
    const file = await fileOf(c.req.param("version"), c.req.param("path"));
    if (file === undefined) return c.notFound();
    const accepted = acceptedEncodings(c.req.header("accept-encoding"));
    const encoding = [...file.encoded.keys()].find((name) => accepted.has(name));
    const body = encoding === undefined ? undefined : file.encoded.get(encoding);
    return c.body(body ?? file.plain, 200, {
      ...FILE_HEADERS,
      "content-type": file.type,
      vary: "accept-encoding",
      ...(encoding !== undefined && { "content-encoding": encoding }),
    });
  });
  return routes;
}

/** The names of encodings in the header, without those of quality 0. */
function acceptedEncodings(header = ""): ReadonlySet<string> {
  const parts = header.toLowerCase().split(",");
  return new Set(
    parts
      .filter((part) => !/;\s*q=0(\.0*)?\s*$/.test(part))
      .map((part) => part.replace(/;.*/s, "").trim()),
  );
}
