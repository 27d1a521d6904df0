/** `POST /v1/messages`: prepares a message, runs it and replies. `/v1/messages/count_tokens` only prepares it. */
import { type Context, Hono } from "hono";
import { collectTurn } from "../../turn/collect.ts";
import { exactHeader } from "../../turn/sampled/exactness.ts";
import type { TurnEvent } from "../../turn/turn.ts";
import { createAbort } from "../abort.ts";
import { describeTurnFailure } from "../errors.ts";
import { type FrameHints, sseResponse } from "../reply/event-stream.ts";
import { untilBegun } from "../reply/wait-for-first-event.ts";
import type { ApiEnv } from "../request/client.ts";
import type { MessagesDeps } from "./deps.ts";
import { toMessagesErrorReply } from "./errors.ts";
import { toFrames } from "./frames.ts";
import { prepareCount, type PreparedMessage, prepareMessage } from "./prepare.ts";
import { runMessage } from "./run.ts";
import { summaryFailure, toSummaryFrames, toSummaryMessage } from "./summary.ts";
import { PING } from "./to-events.ts";
import { toMessage } from "./to-message.ts";

export function messages(deps: MessagesDeps): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();

  app.post("/messages", async (c) => {
    const prepared = await prepareMessage(c, deps);
    const abort = createAbort(c.req.raw.signal);
    const events = runMessage(prepared, deps, abort.signal);
    return reply(c, prepared, events, abort, deps);
  });

  app.post("/messages/count_tokens", async (c) => {
    const { model, turn, applied, clearedTokens, headers } = await prepareCount(c, deps);
    const tokens = await model.countTurnTokens(turn, c.req.raw.signal);
    const management = applied && {
      context_management: { original_input_tokens: tokens + clearedTokens },
    };
    return c.json({ input_tokens: tokens, ...management }, 200, headers);
  });

  return app;
}

async function reply(
  c: Context<ApiEnv>,
  prepared: PreparedMessage,
  events: AsyncIterable<TurnEvent>,
  abort: AbortController,
  { keepAliveMs, clientIdleTimeoutMs }: MessagesDeps,
): Promise<Response> {
  const { request, isSummary, options, headers, turn } = prepared;
  if (!request.stream) return replyWhole(c, prepared, events);
  // Until the engine has accepted the request, an error can still be an HTTP status.
  const begun = await untilBegun(events, { patienceMs: keepAliveMs, signal: abort.signal });
  const hints: FrameHints = { isLast: false };
  const frames = isSummary ? toSummaryFrames(begun, options) : toFrames(begun, options, hints);
  return sseResponse(c, frames, {
    hints,
    keepAlive: PING,
    keepAliveMs,
    clientIdleTimeoutMs,
    headers: { ...headers, ...exactHeader(turn) },
    onCancel: (reason) => abort.abort(reason),
  });
}

async function replyWhole(
  c: Context<ApiEnv>,
  { isSummary, options, headers, turn }: PreparedMessage,
  events: AsyncIterable<TurnEvent>,
): Promise<Response> {
  const finished = await collectTurn(events);
  const failure = isSummary ? summaryFailure(finished) : finished.end.failure;
  if (failure) {
    const { body } = toMessagesErrorReply(describeTurnFailure(failure), options.requestId);
    return c.json(body, 502, headers);
  }
  const message = isSummary ? toSummaryMessage(finished, options) : toMessage(finished, options);
  return c.body(message, 200, {
    ...headers,
    ...exactHeader(turn),
    "content-type": "application/json",
  });
}
