/** Chat Completions and the list of models, in OpenAI's and OpenRouter's formats. */
import { Hono } from "hono";
import { type Api, BEARER, OPENAI_PREFIXES } from "../api.ts";
import { errorCodesAt } from "../error-codes.ts";
import { modelRoutes } from "../models.ts";
import type { ApiEnv } from "../request/client.ts";
import { serveTurn } from "../turn/serve-turn.ts";
import { chatCodec } from "./codec.ts";
import { toErrorBody } from "./errors.ts";

export const chatCompletionsApi: Api = {
  name: "chat-completions",
  turnPath: "/chat/completions",
  // Claims every request that no other API claims: most clients that request an unknown path use this API.
  claims: () => true,
  routes(services) {
    const { settings, hosted, readsPdfs } = services;
    const codec = chatCodec(services);
    const chat = new Hono<ApiEnv>();
    chat.post("/chat/completions", (c) => serveTurn(c, codec, services));
    const models = modelRoutes({
      seesImages: settings.visionUrl !== undefined,
      readsPdfs,
      toolbox: hosted.toolbox,
    });
    return OPENAI_PREFIXES.flatMap((prefix) => [
      { prefix, app: models },
      { prefix, app: chat },
    ]);
  },
  authentication: BEARER,
  errorEnvelope: (error, { path }) => ({
    status: error.status,
    body: toErrorBody(error, errorCodesAt(path)),
  }),
};
