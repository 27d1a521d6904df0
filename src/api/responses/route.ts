/** The Responses API: `POST /v1/responses` (as JSON, as a stream of events or in the background) and related routes. */
import { type Context, Hono } from "hono";
import { exactHeader } from "../../turn/sampled/exactness.ts";
import { createAbort } from "../abort.ts";
import { mediaHeader } from "../media/media-counts.ts";
import { readBody } from "../request/body-memory.ts";
import type { ResponseHeaders } from "../../telemetry/response-headers.ts";
import type { ApiEnv } from "../request/client.ts";
import { type FrameHints, sseResponse } from "../reply/event-stream.ts";
import { untilBegun } from "../reply/wait-for-first-event.ts";
import type { WebSocketOptions } from "../web-sockets.ts";
import { isCodex } from "./codex.ts";
import type { Background } from "./background.ts";
import type { Caller, ResponsesContext } from "./context.ts";
import { conversationRoutes } from "./conversation-routes.ts";
import { toFrames } from "./frames.ts";
import { keepAliveFrames } from "./keep-alive.ts";
import { trainedHeader } from "../trained/trained-tools.ts";
import { omissionHeaders } from "./omissions.ts";
import { type PreparedResponse, prepareResponse } from "./prepare.ts";
import { promptRoutes } from "./prompt-routes.ts";
import type { ResponseStore } from "./response-store.ts";
import { collectResponse, type ResponseTurnEvent, runResponse } from "./run.ts";
import { socketRoute } from "./socket-route.ts";
import { storedResponses } from "./stored-routes.ts";
import { streamResponse, withEvents, withFailure } from "./stream-response.ts";
import { waitUntil } from "./wait-until.ts";

export function responses(
  context: ResponsesContext,
  background: Background,
  webSockets?: WebSocketOptions,
): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();

  app.post("/responses", async (c) => {
    const body = await readBody(c, context.limits.messageLists);
    const prepared = await prepareResponse(body, toCaller(c, context.responses), context);
    c.set("media", prepared.media.counts);
    if (prepared.request.background) return replyLater(c, prepared, context, background);
    const abort = createAbort(c.req.raw.signal);
    const events = runResponse(prepared, context, abort.signal);
    return reply(c, prepared, events, abort, context);
  });
  if (webSockets) app.route("/", socketRoute(context, webSockets));
  app.route("/", promptRoutes(context));
  app.route("/", storedResponses(context, background));
  app.route("/", conversationRoutes(context));
  return app;
}

function toCaller(c: Context<ApiEnv>, store: ResponseStore): Caller {
  return {
    client: c.get("client"),
    requestId: c.get("requestId"),
    signal: c.req.raw.signal,
    isCodex: isCodex((name) => c.req.header(name)),
    responses: store,
  };
}

async function reply(
  c: Context<ApiEnv>,
  prepared: PreparedResponse,
  events: AsyncIterable<ResponseTurnEvent>,
  abort: AbortController,
  context: ResponsesContext,
): Promise<Response> {
  if (!prepared.request.stream) {
    const response = await collectResponse(prepared, events, context);
    return c.json(response, 200, toHeaders(prepared));
  }
  const { keepAliveMs, clientIdleTimeoutMs } = context;
  const { signal } = abort;
  const streamed = withEvents(prepared, context);
  // Until the engine has accepted the request, an error can still be an HTTP status.
  const begun = await untilBegun(streamResponse(streamed, events, context), {
    patienceMs: keepAliveMs,
    signal,
  });
  const hints: FrameHints = { isLast: false };
  return sseResponse(c, toFrames(withFailure(begun, streamed, context, signal), hints), {
    hints,
    keepAlive: keepAliveFrames(streamed.writer, prepared.builder.prefill, keepAliveMs),
    keepAliveMs,
    clientIdleTimeoutMs,
    headers: toHeaders(prepared),
    onCancel: (reason) => abort.abort(reason),
  });
}

/** Replies with the queued response, or with its events. The response is completed even if the client disconnects. */
async function replyLater(
  c: Context<ApiEnv>,
  prepared: PreparedResponse,
  { keepAliveMs, clientIdleTimeoutMs }: ResponsesContext,
  background: Background,
): Promise<Response> {
  const { id, caller, builder, request } = prepared;
  const headers = toHeaders(prepared);
  const queued = builder.response();
  const { ended } = await background.start(prepared);
  waitUntil(c, ended);
  if (!request.stream) return c.json(queued, 200, headers);
  const abort = createAbort(c.req.raw.signal);
  const events = background.follow(caller.client, id, -1, abort.signal);
  const hints: FrameHints = { isLast: false };
  return sseResponse(c, toFrames(events, hints), {
    hints,
    keepAliveMs,
    clientIdleTimeoutMs,
    headers,
    onCancel: (reason) => abort.abort(reason),
  });
}

function toHeaders({
  context,
  omissions,
  builder,
  turn,
  media,
}: PreparedResponse): ResponseHeaders {
  return {
    "x-harmony-reasoning-effort": builder.response().reasoning.effort,
    ...(context.outcome !== undefined && { "x-harmony-cot": context.outcome }),
    ...exactHeader(turn),
    ...omissionHeaders(omissions),
    ...mediaHeader(media.counts),
    ...trainedHeader(turn),
  };
}
