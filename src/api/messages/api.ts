/** Anthropic's Messages API. */
import { type Context, Hono } from "hono";
import { type Api, BEARER, OPENAI_PREFIXES, type Services } from "../api.ts";
import type { ApiEnv } from "../request/client.ts";
import { readTurn, serveTurn } from "../turn/serve-turn.ts";
import { type MessagesCodec, messagesCodec } from "./codec.ts";
import { toMessagesErrorReply } from "./errors.ts";
import { RequestError } from "../errors.ts";
import { createFindModel, modelRoutes, namesVersion } from "./models.ts";

export const messagesApi: Api = {
  name: "messages",
  turnPath: "/messages",
  // Claims the API's own paths, and shared paths, such as the list of models, if the request names a version of
  // Anthropic's API. For the other APIs, the path alone decides the envelope of errors.
  claims: (request) =>
    PATHS.test(request.path) || (!PATHS_OF_OTHERS.test(request.path) && namesVersion(request)),
  routes(services) {
    const { settings, readsPdfs } = services;
    const findModel = createFindModel(settings.claudeAliases);
    const codec = messagesCodec(services, findModel);
    const messages = new Hono<ApiEnv>();
    messages.post("/messages", (c) => serveTurn(c, codec, services));
    messages.post("/messages/count_tokens", (c) => countTokens(c, codec, services));
    const seesImages = settings.visionUrl !== undefined;
    const apps = [messages, modelRoutes(findModel, { seesImages, readsPdfs }), unsupportedRoutes()];
    return OPENAI_PREFIXES.flatMap((prefix) => apps.map((app) => ({ prefix, app })));
  },
  authentication: {
    // Both headers may be present: the SDK also reads a key from the environment.
    presentedKeys(request) {
      const key = request.header("x-api-key");
      return [...(key ? [key] : []), ...BEARER.presentedKeys(request)];
    },
    instruction: "Send it as `x-api-key: <key>` or `Authorization: Bearer <key>`.",
  },
  errorEnvelope: (error, { id }) => toMessagesErrorReply(error, id),
};

async function countTokens(
  c: Context<ApiEnv>,
  codec: MessagesCodec,
  services: Services,
): Promise<Response> {
  const { signal } = c.req.raw;
  const read = codec.begin(await readTurn(c, codec.count, services), c);
  const prepared = await codec.prepareCount(read, signal);
  const { model, turn, applied, clearedTokens, headers } = prepared;
  const tokens = await model.countTurnTokens(turn, signal);
  const management = applied && {
    context_management: { original_input_tokens: tokens + clearedTokens },
  };
  return c.json({ input_tokens: tokens, ...management }, 200, headers);
}

const PATHS_OF_OTHERS =
  /^(?:\/api)?\/v1(?:\/v1)?\/(?:chat|completions|responses|conversations)(?:\/|$)/;
const PATHS = /^(?:\/api)?\/v1(?:\/v1)?\/(?:messages|complete)(?:\/|$)/;

/**
 * Paths of Anthropic's API that are not supported, and one that clients request if their base URL is wrong.
 */
function unsupportedRoutes(): Hono<ApiEnv> {
  const routes = new Hono<ApiEnv>();
  for (const [path, name] of Object.entries(UNSUPPORTED)) {
    routes.all(path, () => {
      throw new RequestError(`This gateway does not support ${name}.`, { status: 404 });
    });
  }
  routes.all("/v1/*", () => {
    throw new RequestError(
      "The path contains /v1 twice. Anthropic's clients append /v1 themselves: configure the base URL without it.",
      { status: 404 },
    );
  });
  return routes;
}

const UNSUPPORTED: Readonly<Record<string, string>> = {
  "/messages/batches": "message batches",
  "/messages/batches/*": "message batches",
  "/complete": "text completions",
};
