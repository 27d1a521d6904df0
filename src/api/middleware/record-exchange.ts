/** Passes requests that run turns, and their responses, to the recorder while it has listeners. */
import type { HonoRequest, MiddlewareHandler } from "hono";
import { createPushStream, type PushStream } from "../../streams/push-stream.ts";
import type { OpenExchange, Recorder } from "../../telemetry/record/recorder.ts";
import type { Api } from "../api.ts";
import type { ApiEnv, Ending } from "../request/client.ts";
import { CLIENT_LEFT } from "./log-requests.ts";

/** Must follow authentication and the limit of the body. */
export function recordExchange(
  apis: readonly Api[],
  recorder: Recorder,
): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    const api = recorder.isListening ? findTurnApi(apis, c.req) : undefined;
    if (api === undefined) return next();
    // Hono caches the text for the route.
    const body = await c.req.text();
    const { tenant, reasoningPolicy, isPrivate } = c.get("client");
    const exchange = recorder.begin({
      id: c.get("requestId"),
      api: api.name,
      tenant,
      reasoningPolicy,
      isPrivate,
      method: c.req.method,
      path: c.req.path,
      headers: c.req.raw.headers,
      body,
    });
    if (exchange === undefined) return next();
    const ending = c.get("ending");
    let isStreamed = false;
    c.set("watchFrames", (frames) => {
      isStreamed = true;
      return noted(frames, exchange, ending);
    });
    try {
      await next();
      // Nothing was sent.
      if (c.res.status === CLIENT_LEFT) return;
      exchange.respond(c.res.status, c.res.headers);
      if (c.error) exchange.refused(c.error.message);
      // A stream that has failed before its first frame is answered with an error.
      if (isStreamed && c.res.status === 200) return;
      exchange.respondWith(await c.res.clone().text());
    } finally {
      if (!(isStreamed && c.res.status === 200)) exchange.end();
    }
  };
}

/** Finds the API by the path alone: an API that claims a request by its headers may not be the one that answers. */
function findTurnApi(apis: readonly Api[], { method, path }: HonoRequest): Api | undefined {
  return method === "POST" ? apis.find(({ turnPath }) => path.endsWith(turnPath)) : undefined;
}

/** Passes frames on and records each once it is written. The exchange ends with the frames. */
function noted(
  frames: PushStream<string>,
  exchange: OpenExchange,
  ending: Ending | undefined,
): PushStream<string> {
  return createPushStream(
    async (consumer) => {
      try {
        await frames.pushTo((frame) => {
          const demand = consumer(frame);
          // Without demand, the client has left before this frame.
          if (demand !== false) exchange.noteEvents(frame);
          return demand;
        });
      } finally {
        if (ending?.error) exchange.refused(ending.error.message);
        exchange.end();
      }
    },
    () => exchange.end(),
  );
}
