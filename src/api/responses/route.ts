/** The Responses API: `POST /v1/responses` (as JSON, as a stream of events or in the background) and related routes. */
import { type Context, Hono } from "hono";
import { createAbort } from "../abort.ts";
import { readBody } from "../request/body-memory.ts";
import type { ResponseHeaders } from "../../telemetry/response-headers.ts";
import type { ApiEnv } from "../request/client.ts";
import { type FrameHints, sseResponse } from "../reply/event-stream.ts";
import { untilBegun } from "../reply/wait-for-first-event.ts";
import type { WebSocketOptions } from "../web-sockets.ts";
import { isCodex } from "./codex.ts";
import type { Background } from "./background.ts";
import type { ResponsesContext } from "./context.ts";
import { conversationRoutes } from "./conversation-routes.ts";
import { collectResponse, type PendingResponse, prepareResponse } from "./create-response.ts";
import { toFrames } from "./frames.ts";
import { keepAliveFrames } from "./keep-alive.ts";
import { omissionHeaders } from "./omissions.ts";
import { waitUntil } from "./wait-until.ts";
import { promptRoutes } from "./prompt-routes.ts";
import { socketRoute } from "./socket-route.ts";
import { storedResponses } from "./stored-routes.ts";
import { streamResponse, withEvents, withFailure } from "./stream-response.ts";

export function responses(
  context: ResponsesContext,
  background: Background,
  webSockets?: WebSocketOptions,
): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();

  app.post("/responses", async (c) => {
    const caller = {
      client: c.get("client"),
      requestId: c.get("requestId"),
      isCodex: isCodex((name) => c.req.header(name)),
      responses: context.responses,
    };
    const body = await readBody(c, context.limits.messageLists);
    const pending = await prepareResponse(body, caller, context);
    if (pending.request.background) return answerInBackground(c, pending, context, background);
    const abort = createAbort(c.req.raw.signal);
    const { signal } = abort;
    const headers = toHeaders(pending);
    if (!pending.request.stream) {
      return c.json(await collectResponse(pending, context, signal), 200, headers);
    }
    const streamed = withEvents(pending, context);
    const events = streamResponse(streamed, context, signal);
    // Until the engine has accepted the request, an error can still be an HTTP status.
    const begun = await untilBegun(events, { patienceMs: context.keepAliveMs, signal });
    const hints: FrameHints = { isLast: false };
    return sseResponse(c, toFrames(withFailure(begun, streamed, context, signal), hints), {
      hints,
      keepAliveMs: context.keepAliveMs,
      keepAlive: keepAliveFrames(streamed.writer, context.keepAliveMs),
      clientIdleTimeoutMs: context.clientIdleTimeoutMs,
      headers,
      onCancel: (reason) => abort.abort(reason),
    });
  });
  if (webSockets) app.route("/", socketRoute(context, webSockets));
  app.route("/", promptRoutes(context));
  app.route("/", storedResponses(context, background));
  app.route("/", conversationRoutes(context));
  return app;
}

/** The response is completed even if the client disconnects. */
async function answerInBackground(
  c: Context<ApiEnv>,
  pending: PendingResponse,
  context: ResponsesContext,
  background: Background,
): Promise<Response> {
  const { id, caller, builder, request } = pending;
  const queued = builder.response();
  const { ended } = await background.start(pending);
  waitUntil(c, ended);
  if (!request.stream) return c.json(queued, 200, toHeaders(pending));
  const abort = createAbort(c.req.raw.signal);
  const events = background.follow(caller.client, id, -1, abort.signal);
  const hints: FrameHints = { isLast: false };
  return sseResponse(c, toFrames(events, hints), {
    hints,
    keepAliveMs: context.keepAliveMs,
    clientIdleTimeoutMs: context.clientIdleTimeoutMs,
    headers: toHeaders(pending),
    onCancel: (reason) => abort.abort(reason),
  });
}

function toHeaders({ context, omissions, builder }: PendingResponse): ResponseHeaders {
  return {
    "x-harmony-reasoning-effort": builder.response().reasoning.effort,
    ...(context.outcome !== undefined && { "x-harmony-cot": context.outcome }),
    ...omissionHeaders(omissions),
  };
}
