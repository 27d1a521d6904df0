/** `POST /v1/messages`: reads and prepares a message, runs it and replies. `/v1/messages/count_tokens` only prepares it. */
import { type Context, Hono } from "hono";
import { exactHeader } from "../../turn/sampled/exactness.ts";
import { createAbort } from "../abort.ts";
import { describeTurnFailure, type ErrorDescription } from "../errors.ts";
import { EMPTY_ANSWER_HEADER, isAnswerEmpty } from "../reply/empty-answer.ts";
import { holding, holdReply } from "../reply/held-reply.ts";
import { type OpenedStream, type Opening, streamReply } from "../reply/stream-reply.ts";
import { untilBegun } from "../reply/wait-for-first-event.ts";
import type { ApiEnv } from "../request/client.ts";
import type { MessagesDeps } from "./deps.ts";
import { toMessagesErrorReply } from "./errors.ts";
import { prepareCount, type PreparedMessage, prepareMessage, readMessage } from "./prepare.ts";
import { runMessage } from "./run.ts";
import { collectSummary, toSummaryFrames } from "./summary.ts";
import { errorFrame, PING, toFrames } from "./to-events.ts";
import { collectMessage } from "./to-message.ts";

export function messages(deps: MessagesDeps): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();

  app.post("/messages", async (c) => {
    const read = await readMessage(c, deps);
    const abort = createAbort(c.req.raw.signal);
    const preparing = prepareMessage(read, deps, abort.signal);
    if (!read.request.stream) {
      const prepared = await preparing;
      return replyWhole(c, prepared, abort.signal, deps);
    }
    const { requestId, headers } = read;
    const plan = {
      preparing,
      open: (prepared: PreparedMessage, opening: Opening) => open(prepared, opening, deps),
      toFailure: (error: ErrorDescription) => errorFrame(error, { requestId }),
      keepAlive: PING,
      headers,
      abort,
    };
    return streamReply(c, plan, deps);
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

async function open(
  prepared: PreparedMessage,
  opening: Opening,
  deps: MessagesDeps,
): Promise<OpenedStream> {
  const { isSummary, options, headers, turn } = prepared;
  const events = runMessage(prepared, deps, opening.signal);
  // Until the engine has accepted the request, an error can still be an HTTP status.
  const begun = await untilBegun(events, opening);
  return {
    frames: isSummary
      ? toSummaryFrames(begun, options, opening)
      : toFrames(begun, options, opening),
    keepAlive: PING,
    headers: { ...headers, ...exactHeader(turn) },
  };
}

async function replyWhole(
  c: Context<ApiEnv>,
  prepared: PreparedMessage,
  signal: AbortSignal,
  deps: MessagesDeps,
): Promise<Response> {
  const { isSummary, options, headers, turn, model } = prepared;
  const held = await holdReply({ turn, contextLength: model.contextLength, signal }, deps);
  const events = holding(runMessage(prepared, deps, signal), held);
  // Its message is text alone, which the context limits: it is written at once.
  const collect = isSummary ? collectSummary : collectMessage;
  const { end, toJson } = await collect(events, options).finally(() => held.release());
  if (end.failure) {
    const { body } = toMessagesErrorReply(describeTurnFailure(end.failure), options.requestId);
    return c.json(body, 502, headers);
  }
  return c.body(toJson(), 200, {
    ...headers,
    ...exactHeader(turn),
    ...(isAnswerEmpty(end) && EMPTY_ANSWER_HEADER),
    "content-type": "application/json",
  });
}
