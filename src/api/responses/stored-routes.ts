/** Routes for stored responses: read, follow, list, cancel and delete. */
import { type Context, Hono } from "hono";
import * as z from "zod";
import { createAbort } from "../../streams/follow-signal.ts";
import type { ApiEnv } from "../request/client.ts";
import { refusal } from "../errors.ts";
import { parseWith } from "../request/parse-request.ts";
import { type FrameHints, sseResponse } from "../reply/event-stream.ts";
import { untilBegun } from "../reply/wait-for-first-event.ts";
import type { Background } from "./background.ts";
import type { ResponsesContext } from "./context.ts";
import { unknownResponse } from "./follow-response.ts";
import { toFrames } from "./stream-response.ts";
import type { StoredResponse } from "./response-store.ts";
import { showResponse, toPage } from "./to-client.ts";

const readQuery = z.lazy(() =>
  z.object({
    stream: z.enum(["true", "false"]).default("false"),
    starting_after: z.coerce.number().int().min(0).optional(),
  }),
);

export function storedResponses(context: ResponsesContext, background: Background): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();

  app.get("/responses/:id", async (c) => {
    const query = parseWith(readQuery, c.req.query());
    const { response } = await find(c);
    if (query.stream === "false") return c.json(showResponse(response, c.get("client")));
    if (response["background"] !== true) {
      throw refusal(
        "stream",
        "only background responses can be streamed later. Read this one without stream",
      );
    }
    const abort = createAbort(c.req.raw.signal);
    const after = query.starting_after ?? -1;
    const events = background.follow(c.get("client"), response.id, after, abort.signal);
    const { signal } = abort;
    const begun = await untilBegun(events, { patienceMs: context.keepAliveMs, signal });
    const hints: FrameHints = { isLast: false };
    return sseResponse(c, toFrames(begun, { hints, pause: context.pause }), {
      hints,
      keepAliveMs: context.keepAliveMs,
      clientIdleTimeoutMs: context.clientIdleTimeoutMs,
      onCancel: (reason) => abort.abort(reason),
    });
  });

  app.delete("/responses/:id", async (c) => {
    const entry = await find(c);
    await background.delete(c.get("client").tenant, entry);
    return c.json({ id: entry.response.id, object: "response", deleted: true });
  });

  app.post("/responses/:id/cancel", async (c) => {
    const { response } = await background.cancel(c.get("client").tenant, c.req.param("id"));
    return c.json(showResponse(response, c.get("client")));
  });

  app.get("/responses/:id/input_items", async (c) => {
    const { input } = await find(c);
    return c.json(toPage(input, c.req.query(), c.get("client")));
  });

  async function find(c: Context<ApiEnv, "/responses/:id">): Promise<StoredResponse> {
    const id = c.req.param("id");
    const { tenant } = c.get("client");
    const entry = await context.readStored(tenant, c.req.raw, () => background.read(tenant, id));
    if (entry === undefined) throw unknownResponse(id);
    return entry;
  }

  return app;
}
