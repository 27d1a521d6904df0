/** `POST /v1/responses`, answered as JSON or as a stream of events. */
import { Hono } from "hono";
import type { ApiEnv } from "../client.ts";
import { sseFrame, sseResponse } from "../sse.ts";
import { untilBegun } from "../until-begun.ts";
import {
  type PendingResponse,
  prepareResponse,
  runResponse,
  withFailure,
} from "./create-response.ts";
import type { ResponsesContext } from "./context.ts";
import type { ResponseEvent } from "./to-events.ts";

export function responses(context: ResponsesContext): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();

  app.post("/responses", async (c) => {
    const caller = {
      client: c.get("client"),
      requestId: c.get("requestId"),
      responses: context.responses,
    };
    const pending = await prepareResponse(await c.req.text(), caller, context);
    const abort = new AbortController();
    const signal = AbortSignal.any([abort.signal, c.req.raw.signal]);
    const events = runResponse(pending, context, signal);
    const headers = toHeaders(pending);
    if (!pending.request.stream) {
      for await (const event of events) void event;
      return c.json(pending.writer.response, 200, headers);
    }
    // Until the engine has accepted, its refusal can still be an HTTP status.
    const begun = await untilBegun(events, context.keepAliveMs);
    return sseResponse(toFrames(withFailure(begun, pending, context)), {
      keepAliveMs: context.keepAliveMs,
      headers,
      onCancel: (reason) => abort.abort(reason),
    });
  });
  return app;
}

/** Each event in a frame, and so in a write, of its own: some parsers forget a frame that arrives in two reads. */
export async function* toFrames(events: AsyncIterable<ResponseEvent>): AsyncGenerator<string> {
  for await (const { type, json } of events) yield sseFrame(json, type);
  yield sseFrame("[DONE]");
}

function toHeaders({ context }: PendingResponse): Record<string, string> {
  return context.outcome === undefined ? {} : { "x-harmony-cot": context.outcome };
}
