/** `POST /v1/chat/completions`: prepares a completion, runs it and replies. */
import { type Context, Hono } from "hono";
import { collectTurn } from "../../turn/collect.ts";
import { exactHeader } from "../../turn/sampled/exactness.ts";
import type { TurnEvent } from "../../turn/turn.ts";
import { createAbort } from "../abort.ts";
import { type FrameHints, sseResponse } from "../reply/event-stream.ts";
import { untilAnyBegun } from "../reply/wait-for-first-event.ts";
import type { ApiEnv } from "../request/client.ts";
import type { ChatCompletionsDeps } from "./deps.ts";
import { toFrames } from "./frames.ts";
import { type PreparedCompletion, prepareCompletion } from "./prepare.ts";
import { runCompletion } from "./run.ts";
import { toCompletion } from "./to-completion.ts";

export function chatCompletions(deps: ChatCompletionsDeps): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();
  app.post("/chat/completions", async (c) => {
    const prepared = await prepareCompletion(c, deps);
    const abort = createAbort(c.req.raw.signal);
    const choices = runCompletion(prepared, deps, abort.signal);
    try {
      return await reply(c, prepared, choices, abort, deps);
    } catch (error) {
      // One of several choices has failed: stop the others.
      abort.abort(error);
      throw error;
    }
  });
  return app;
}

async function reply(
  c: Context<ApiEnv>,
  { request, options, headers, turn }: PreparedCompletion,
  choices: readonly AsyncIterable<TurnEvent>[],
  abort: AbortController,
  { keepAliveMs, clientIdleTimeoutMs }: ChatCompletionsDeps,
): Promise<Response> {
  if (!request.stream) {
    const finished = await Promise.all(choices.map((events) => collectTurn(events)));
    return c.json(toCompletion(finished, options), 200, {
      ...headers,
      ...exactHeader(turn),
    });
  }
  // Until the engine has accepted the request, an error can still be an HTTP status.
  const { signal } = abort;
  const begun = await untilAnyBegun(choices, { patienceMs: keepAliveMs, signal });
  const hints: FrameHints = { isLast: false };
  return sseResponse(c, toFrames(begun, options, abort, hints), {
    hints,
    ...(options.prefill && { keepAlive: options.prefill.keepAlive }),
    keepAliveMs,
    clientIdleTimeoutMs,
    headers: { ...headers, ...exactHeader(turn) },
    onCancel: (reason) => abort.abort(reason),
  });
}
