/** The Responses API: `POST /v1/responses` (as JSON, as a stream of events or in the background) and related routes. */
import { type Context, Hono } from "hono";
import { exactHeader } from "../../turn/sampled/exactness.ts";
import { createAbort } from "../abort.ts";
import { mediaHeader } from "../media/media-counts.ts";
import { readBody } from "../request/body-memory.ts";
import type { ResponseHeaders } from "../../telemetry/response-headers.ts";
import type { ApiEnv } from "../request/client.ts";
import { EMPTY_ANSWER_COMMENT, EMPTY_ANSWER_HEADER } from "../reply/empty-answer.ts";
import { holding, holdReply, wholeReply } from "../reply/held-reply.ts";
import { type OpenedStream, type Opening, streamReply } from "../reply/stream-reply.ts";
import { untilBegun } from "../reply/wait-for-first-event.ts";
import type { WebSocketOptions } from "../web-sockets.ts";
import { isCodex } from "./codex.ts";
import type { Background } from "./background.ts";
import type { Caller, ResponsesContext } from "./context.ts";
import { conversationRoutes } from "./conversation-routes.ts";
import { toFailureFrames, toFrames } from "./frames.ts";
import { keepAliveFrames } from "./keep-alive.ts";
import { trainedHeader } from "../trained/trained-tools.ts";
import { omissionHeaders } from "./omissions.ts";
import { type PreparedResponse, prepareResponse, readResponse, toHeldTurn } from "./prepare.ts";
import { promptRoutes } from "./prompt-routes.ts";
import type { ResponseStore } from "./response-store.ts";
import { collectResponse, runResponse } from "./run.ts";
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
    const body = await readBody(c, context.limits.messageLists, context.pause);
    const abort = createAbort(c.req.raw.signal);
    const caller = toCaller(c, context.responses, abort.signal);
    const read = await readResponse(body, caller, context);
    c.set("media", read.media.counts);
    const preparing = prepareResponse(read, caller, context);
    const { request } = read;
    if (!request.stream) {
      const prepared = await preparing;
      return request.background
        ? replyLater(c, prepared, background)
        : replyWhole(c, prepared, abort.signal, context);
    }
    const plan = {
      preparing,
      open: (prepared: PreparedResponse, opening: Opening) =>
        request.background
          ? openLater(c, prepared, opening, background, context)
          : openStream(prepared, opening, context),
      toFailure: toFailureFrames,
      headers: { "x-harmony-reasoning-effort": read.effort },
      abort,
    };
    return streamReply(c, plan, context);
  });
  if (webSockets) app.route("/", socketRoute(context, webSockets));
  app.route("/", promptRoutes(context));
  app.route("/", storedResponses(context, background));
  app.route("/", conversationRoutes(context));
  return app;
}

function toCaller(c: Context<ApiEnv>, store: ResponseStore, signal: AbortSignal): Caller {
  return {
    client: c.get("client"),
    requestId: c.get("requestId"),
    signal,
    isCodex: isCodex((name) => c.req.header(name)),
    responses: store,
  };
}

async function replyWhole(
  c: Context<ApiEnv>,
  prepared: PreparedResponse,
  signal: AbortSignal,
  context: ResponsesContext,
): Promise<Response> {
  const held = await holdReply(toHeldTurn(prepared), context);
  try {
    const events = holding(runResponse(prepared, context, signal), held);
    const response = await collectResponse(prepared, events, context);
    return wholeReply(c, response, toHeaders(prepared), { held, pause: context.pause });
  } catch (error) {
    held.release();
    throw error;
  }
}

/** Replies with the queued response, which is completed even if the client disconnects. */
async function replyLater(
  c: Context<ApiEnv>,
  prepared: PreparedResponse,
  background: Background,
): Promise<Response> {
  const headers = toHeaders(prepared);
  const queued = prepared.builder.response();
  const { ended } = await background.start(prepared);
  waitUntil(c, ended);
  return c.json(queued, 200, headers);
}

async function openStream(
  prepared: PreparedResponse,
  opening: Opening,
  context: ResponsesContext,
): Promise<OpenedStream> {
  const events = runResponse(prepared, context, opening.signal);
  const streamed = withEvents(prepared, context);
  // Until the engine has accepted the request, an error can still be an HTTP status.
  const begun = await untilBegun(streamResponse(streamed, events, context), opening);
  return {
    frames: toFrames(
      withFailure(begun, streamed, context, opening),
      { ...opening, pause: context.pause },
      () => (prepared.builder.isEmpty ? EMPTY_ANSWER_COMMENT : ""),
    ),
    keepAlive: keepAliveFrames(streamed.writer, prepared.builder.prefill, context.keepAliveMs),
    headers: toHeaders(prepared),
  };
}

/** The events of a response that runs in the background. It is completed even if the client disconnects. */
async function openLater(
  c: Context<ApiEnv>,
  prepared: PreparedResponse,
  { hints, signal }: Opening,
  background: Background,
  { pause }: ResponsesContext,
): Promise<OpenedStream> {
  const { id, caller } = prepared;
  const headers = toHeaders(prepared);
  const { ended } = await background.start(prepared);
  waitUntil(c, ended);
  const events = background.follow(caller.client, id, -1, signal);
  return { frames: toFrames(events, { hints, pause }), headers };
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
    ...(builder.isEmpty && EMPTY_ANSWER_HEADER),
    ...omissionHeaders(omissions),
    ...mediaHeader(media.counts),
    ...trainedHeader(turn),
  };
}
