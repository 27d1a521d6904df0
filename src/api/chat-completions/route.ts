/** `POST /v1/chat/completions`: prepares a completion, runs it and replies. */
import { Hono } from "hono";
import { collectTurn } from "../../turn/collect.ts";
import { exactHeader } from "../../turn/sampled/exactness.ts";
import { createAbort } from "../abort.ts";
import type { ErrorDescription } from "../errors.ts";
import { type OpenedStream, type Opening, streamReply } from "../reply/stream-reply.ts";
import { untilAnyBegun } from "../reply/wait-for-first-event.ts";
import type { ApiEnv } from "../request/client.ts";
import type { ChatCompletionsDeps } from "./deps.ts";
import { toFailureFrames, toFrames } from "./frames.ts";
import { type PreparedCompletion, prepareCompletion, readCompletion } from "./prepare.ts";
import { runCompletion } from "./run.ts";
import { toCompletion } from "./to-completion.ts";

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
    const choices = runCompletion(prepared, deps, abort.signal);
    const finished = await stoppingAll(abort, () =>
      Promise.all(choices.map((events) => collectTurn(events))),
    );
    const { headers, turn, options } = prepared;
    return c.json(toCompletion(finished, options), 200, { ...headers, ...exactHeader(turn) });
  });
  return app;
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
    frames: toFrames(begun, options, abort, opening),
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
