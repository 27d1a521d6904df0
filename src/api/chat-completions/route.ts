/** `POST /v1/chat/completions`: prepares a completion, runs it and replies. */
import { type Context, Hono } from "hono";
import { exactHeader } from "../../turn/sampled/exactness.ts";
import { createAbort } from "../abort.ts";
import type { ErrorDescription } from "../errors.ts";
import { EMPTY_ANSWER_HEADER, isAnswerEmpty } from "../reply/empty-answer.ts";
import { holdReply, wholeReply } from "../reply/held-reply.ts";
import { type OpenedStream, type Opening, streamReply } from "../reply/stream-reply.ts";
import { untilAnyBegun } from "../reply/wait-for-first-event.ts";
import type { ApiEnv } from "../request/client.ts";
import type { ChatCompletionsDeps } from "./deps.ts";
import { type PreparedCompletion, prepareCompletion, readCompletion } from "./prepare.ts";
import { runCompletion } from "./run.ts";
import { toFailureFrames, toFrames } from "./to-chunks.ts";
import { collectChoice, toCompletion } from "./to-completion.ts";

export function chatCompletions(deps: ChatCompletionsDeps): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();
  app.post("/chat/completions", async (c) => {
    const read = await readCompletion(c, deps);
    const abort = createAbort(c.req.raw.signal);
    const preparing = prepareCompletion(read, deps, abort.signal);
    if (read.request.stream) {
      const plan = {
        preparing,
        open: (prepared: PreparedCompletion, opening: Opening) =>
          open(prepared, opening, abort, deps),
        toFailure: (error: ErrorDescription) => toFailureFrames(error, read.options),
        headers: read.headers,
        abort,
      };
      return streamReply(c, plan, deps);
    }
    const prepared = await preparing;
    return replyWhole(c, prepared, abort, deps);
  });
  return app;
}

async function replyWhole(
  c: Context<ApiEnv>,
  prepared: PreparedCompletion,
  abort: AbortController,
  deps: ChatCompletionsDeps,
): Promise<Response> {
  const { headers, turn, options, model, request } = prepared;
  const { signal } = abort;
  const { contextLength } = model;
  const held = await holdReply({ turn, contextLength, choices: request.n ?? 1, signal }, deps);
  try {
    const choices = runCompletion(prepared, deps, signal);
    const finished = await stoppingAll(abort, () =>
      Promise.all(choices.map((events) => collectChoice(events, options, held))),
    );
    const body = toCompletion(finished, options);
    const isEmpty = finished.some(({ end }) => isAnswerEmpty(end));
    const all = { ...headers, ...exactHeader(turn), ...(isEmpty && EMPTY_ANSWER_HEADER) };
    return wholeReply(c, body, all, { held, pause: deps.pause });
  } catch (error) {
    held.release();
    throw error;
  }
}

async function open(
  prepared: PreparedCompletion,
  opening: Opening,
  abort: AbortController,
  deps: ChatCompletionsDeps,
): Promise<OpenedStream> {
  const { options, headers, turn } = prepared;
  const choices = runCompletion(prepared, deps, opening.signal);
  // Until the engine has accepted the request, an error can still be an HTTP status.
  const begun = await stoppingAll(abort, () => untilAnyBegun(choices, opening));
  return {
    frames: toFrames(begun, options, abort, { ...opening, pause: deps.pause }),
    ...(options.prefill && { keepAlive: options.prefill.keepAlive }),
    headers: { ...headers, ...exactHeader(turn) },
  };
}

/** If one of several choices fails, the others are stopped. */
async function stoppingAll<T>(abort: AbortController, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    abort.abort(error);
    throw error;
  }
}
