/**
 * The inspector at `/inspect`: a page without anything in it, and, with the token, the records of turns. What a record
 * holds was written by users, models and tools: it leaves only as JSON, and the page shows it only as text.
 */
import { Hono } from "hono";
import type { ApiEnv } from "../api/client.ts";
import type { Models } from "../models/models.ts";
import type { RecordEntry, Recorder } from "../telemetry/record/recorder.ts";
import { type AccessOptions, checkOrigin, checkToken } from "./access.ts";
import type { Assets } from "./assets.ts";
import { streamChanges } from "./changes.ts";
import { toSharedPage } from "./shared-page.ts";
import { toTokenTexts } from "./token-texts.ts";

export interface InspectorOptions extends AccessOptions {
  readonly recorder: Recorder;
  readonly assets: Assets;
  readonly models: () => Models;
  /** Clients need a key. */
  readonly hasKeys: boolean;
  readonly version: string;
  /** Aborted when the gateway shuts down: open pages are told no more, so that it need not wait for them. */
  readonly closing: AbortSignal;
}

/** Nothing from elsewhere, nothing inline, no frames. */
export const PAGE_HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
    "frame-ancestors 'none'",
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

export function inspectorRoutes(options: InspectorOptions): Hono<ApiEnv> {
  const { recorder, assets } = options;
  const app = new Hono<ApiEnv>();
  app.use("/inspect", checkOrigin(options));
  app.use("/inspect/*", checkOrigin(options));

  app.get("/inspect", async (c) => c.html(await assets.page(), 200, PAGE_HEADERS));
  app.get("/inspect/app/:name", async (c) => {
    const file = await assets.file(c.req.param("name"));
    if (file === undefined) return c.notFound();
    return c.body(file.text, 200, { ...PAGE_HEADERS, "content-type": file.type });
  });

  app.use("/inspect/api/*", checkToken(options));
  app.get("/inspect/api/turns", (c) =>
    c.json(
      {
        version: options.version,
        hasKeys: options.hasKeys,
        models: options.models().all.map(({ id }) => id),
        turns: recorder.entries.map((entry) => toRow(entry)),
      },
      200,
      PAGE_HEADERS,
    ),
  );
  app.delete("/inspect/api/turns", (c) => {
    recorder.clear();
    return c.json({}, 200, PAGE_HEADERS);
  });
  app.get("/inspect/api/changes", (c) => {
    const stream = streamChanges(recorder, toRow, [c.req.raw.signal, options.closing]);
    if (stream === undefined) return c.json({ error: "Too many pages are open." }, 503);
    return c.body(stream, 200, { ...PAGE_HEADERS, "content-type": "text/event-stream" });
  });
  app.get("/inspect/api/turns/:number", (c) => {
    const entry = recorder.find(Number(c.req.param("number")));
    if (entry === undefined) return c.json({ error: "This turn is no longer kept." }, 404);
    const record = entry.record();
    const body = { row: toRow(entry), record, tokens: toTokenTexts(record) };
    return c.json(body, 200, PAGE_HEADERS);
  });
  app.get("/inspect/api/turns/:number/file", async (c) => {
    const entry = recorder.find(Number(c.req.param("number")));
    if (entry === undefined) return c.json({ error: "This turn is no longer kept." }, 404);
    const record = entry.record();
    if (c.req.query("as") === "json") return c.json(record, 200, PAGE_HEADERS);
    const turn = { row: toRow(entry), record, tokens: toTokenTexts(record) };
    // Sent as a file: the page that asked for it saves it, and no browser shows it under this origin.
    return c.body(await toSharedPage(assets, turn), 200, {
      ...PAGE_HEADERS,
      "content-type": "application/octet-stream",
    });
  });
  return app;
}

function toRow(entry: RecordEntry) {
  return { number: entry.number, isComplete: entry.isComplete, ...entry.summary() };
}
