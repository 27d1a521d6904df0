/** The Responses API and its conversations, over HTTP and WebSocket, in OpenAI's spelling and in that of Open Responses. */
import { Hono } from "hono";
import { type Api, BEARER, OPENAI_PREFIXES } from "../api.ts";
import { errorCodesAt } from "../error-codes.ts";
import type { ApiEnv } from "../request/client.ts";
import { serveTurn } from "../turn/serve-turn.ts";
import { Background } from "./background.ts";
import { responsesCodec } from "./codec.ts";
import { createResponsesContext, type ResponsesContext } from "./context.ts";
import { conversationRoutes } from "./conversation-routes.ts";
import { toErrorMember } from "./errors.ts";
import { promptRoutes } from "./prompt-routes.ts";
import { socketRoute } from "./socket-route.ts";
import { storedResponses } from "./stored-routes.ts";

/** Prefix of the API with the event names of the Open Responses schema. */
const OPEN_RESPONSES_PREFIX = "/open-responses/v1";

export const responsesApi: Api = {
  name: "responses",
  turnPath: "/responses",
  claims: ({ path }) =>
    path.startsWith(`${OPEN_RESPONSES_PREFIX}/`) ||
    /^(\/api)?\/v1\/(responses|conversations)(\/|$)/.test(path),
  routes(services) {
    const context = createResponsesContext(services);
    const background = new Background(context);
    const app = toRoutes(context, background);
    const open = toRoutes({ ...context, reasoningEvents: openReasoning }, background);
    return [
      ...OPENAI_PREFIXES.map((prefix) => ({ prefix, app })),
      { prefix: OPEN_RESPONSES_PREFIX, app: open },
    ];
  },
  authentication: BEARER,
  errorEnvelope: (error, { path }) => ({
    status: error.status,
    body: { error: toErrorMember(error, errorCodesAt(path)) },
  }),
  webSocketPaths: [...OPENAI_PREFIXES, OPEN_RESPONSES_PREFIX].map(
    (prefix) => `${prefix}/responses`,
  ),
};

function openReasoning() {
  return "reasoning" as const;
}

function toRoutes(context: ResponsesContext, background: Background): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();
  const codec = responsesCodec(context, background);
  app.post("/responses", (c) => serveTurn(c, codec, context));
  const { webSockets } = context;
  if (webSockets) app.route("/", socketRoute(context, webSockets));
  app.route("/", promptRoutes(context));
  app.route("/", storedResponses(context, background));
  app.route("/", conversationRoutes(context));
  return app;
}
