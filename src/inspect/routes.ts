/**
 * The inspector at `/inspect`: a page without data, and, with the token, the records of turns. Users, models and tools wrote the
 * content of a record: it is sent only as JSON, and the page shows it only as text.
 */
import { type Context, Hono } from "hono";
import { getCookie } from "hono/cookie";
import { THEME_COOKIE, toTheme } from "../api/pages/theme.ts";
import type { ApiEnv } from "../api/request/client.ts";
import type { RecordEntry } from "../telemetry/record/entry.ts";
import type { TurnRecord } from "../telemetry/record/schema.ts";
import { runSliced, stringifyInChunks } from "../telemetry/record/build-slices.ts";
import { checkOrigin, checkToken } from "./access.ts";
import type { InspectorOptions, KeyUses } from "./options.ts";
import { PAGE_HEADERS } from "../pages/headers.ts";
import { INSPECT_PAGE } from "./page-description.ts";
import { streamChanges } from "./changes.ts";
import { toEngineRows } from "./engines.ts";
import { parseSince } from "./parse-since.ts";
import { addTurnActions, NOT_KEPT } from "./turn-actions.ts";
import { toSharedPage } from "./shared-page.ts";
import { type RecordTexts, toRecordTexts } from "./record-texts.ts";

export function inspectorRoutes(options: InspectorOptions): Hono<ApiEnv> {
  const { recorder, assets, hasChat } = options;
  const keyUses = shareRunning(options.keyUses);
  const app = new Hono<ApiEnv>();
  app.use("/inspect", checkOrigin(options));
  app.use("/inspect/*", checkOrigin(options));

  app.get("/inspect", async (c) => {
    const theme = toTheme(getCookie(c, THEME_COOKIE));
    const facts = { ...(hasChat && { chat: "on" }), ...(theme !== undefined && { theme }) };
    return c.html(await assets.html(INSPECT_PAGE, facts), 200, PAGE_HEADERS);
  });

  app.use("/inspect/api/*", checkToken(options));
  app.get("/inspect/api/turns", (c) =>
    c.json(
      {
        version: options.version,
        hasKeys: options.hasKeys,
        hasCapture: options.capture !== undefined,
        keeps: options.keeps,
        isOneOfSeveral: options.isOneOfSeveral,
        models: options.models().all.map(({ id }) => id),
        turns: recorder.kept.entries.map((entry) => toRow(entry)),
      },
      200,
      PAGE_HEADERS,
    ),
  );
  app.get("/inspect/api/engines", (c) =>
    c.json({ engines: toEngineRows(options.models(), recorder) }, 200, PAGE_HEADERS),
  );
  app.get("/inspect/api/keys", async (c) => c.json({ uses: await keyUses() }, 200, PAGE_HEADERS));
  app.delete("/inspect/api/turns", (c) => {
    recorder.kept.clear();
    return c.json({}, 200, PAGE_HEADERS);
  });
  app.get("/inspect/api/changes", (c) => {
    const stream = streamChanges(recorder, toRow, [c.req.raw.signal, options.closing]);
    if (stream === undefined) return c.json({ error: "Too many pages are open." }, 503);
    return c.body(stream, 200, { ...PAGE_HEADERS, "content-type": "text/event-stream" });
  });
  app.get("/inspect/api/turns/:number", async (c) => {
    const number = c.req.param("number");
    const newest = recorder.kept.entries.at(-1);
    if (number === "newest" && newest === undefined) return c.body(null, 204, PAGE_HEADERS);
    const entry = number === "newest" ? newest : recorder.kept.find(Number(number));
    if (entry === undefined) return c.json({ error: NOT_KEPT }, 404);
    // The row precedes the record: if the turn ends in between, the page requests it again.
    const row = toRow(entry);
    const { record, seen } = await entry.changes(parseSince(c.req.query("since")));
    return json(c, { row, record, tokens: await tokensOf(record), seen });
  });
  app.get("/inspect/api/turns/:number/file", async (c) => {
    const entry = recorder.kept.find(Number(c.req.param("number")));
    if (entry === undefined) return c.json({ error: NOT_KEPT }, 404);
    const record = await entry.record();
    if (c.req.query("as") === "json") return json(c, record);
    const turn = { row: toRow(entry), record, tokens: await tokensOf(record) };
    // The type makes the page save the file, so that no browser shows it under this origin.
    return send(c, "application/octet-stream", toSharedPage(assets, stringifyInChunks(turn)));
  });
  addTurnActions(app, options);
  return app;
}

/** Shares one result between concurrent requests of pages. An unreadable file counts as missing. */
function shareRunning(
  read: InspectorOptions["keyUses"],
): () => Promise<KeyUses | undefined> | undefined {
  let running: Promise<KeyUses | undefined> | undefined;
  return () =>
    (running ??= read?.()
      .catch(() => undefined)
      .finally(() => (running = undefined)));
}

function json(c: Context<ApiEnv>, body: object): Response {
  return send(c, "application/json", stringifyInChunks(body));
}

/** Sends chunks, each built and encoded when there is room for it: a long turn has some ten megabytes. */
function send(c: Context<ApiEnv>, type: string, chunks: AsyncGenerator<string>): Response {
  const headers = { ...PAGE_HEADERS, "content-type": type };
  const encoder = new TextEncoder();
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      await chunks.return(undefined);
    },
  });
  return c.body(stream, 200, headers);
}

function tokensOf(record: TurnRecord): Promise<RecordTexts> {
  return runSliced(toRecordTexts(record));
}

function toRow(entry: RecordEntry) {
  const { number, isComplete, isPinned } = entry;
  return { number, isComplete, isPinned, ...entry.summary() };
}
