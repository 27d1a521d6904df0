/** Anthropic's Messages API. */
import type { Settings } from "../../config/settings.ts";
import { type Api, BEARER, OPENAI_PREFIXES } from "../api.ts";
import { toTurnDeps } from "../turn-deps.ts";
import { toMessagesErrorReply } from "./errors.ts";
import { createFindModel } from "./find-model.ts";
import { modelRoutes, namesVersion } from "./models.ts";
import { messages } from "./route.ts";
import { unsupportedRoutes } from "./unsupported-routes.ts";
import { mediaRules } from "../request/media.ts";

export const messagesApi: Api = {
  name: "messages",
  turnPath: "/messages",
  // Its own paths. Shared ones, such as the list of models, are claimed if the request names a version of Anthropic's API; the
  // path alone decides the envelope of errors of the other APIs.
  claims: (request) =>
    PATHS.test(request.path) || (!PATHS_OF_OTHERS.test(request.path) && namesVersion(request)),
  routes(services) {
    const { settings, readsPdfs, log, meters } = services;
    const deps = toTurnDeps(services, { messageLists: ["messages"], toolLists: ["tools"] });
    const findModel = createFindModel(settings.claudeAliases);
    const apps = [
      messages({
        ...deps,
        findModel,
        serverTools: settings.unsupportedTools,
        containerIdleMs: settings.pythonIdleMs,
        hosted: { ...deps.hosted, citations: toCitationMode(settings.citations) },
        media: mediaRules(settings.mediaInput, "placeholder"),
        onSkipped: (id, kinds) => log.info("tools or content skipped", { id, kinds }),
        onRestored: (outcome) => meters.reasoningReturned.add({ outcome }),
      }),
      modelRoutes(findModel, {
        seesImages: settings.visionUrl !== undefined,
        readsPdfs,
      }),
      unsupportedRoutes(),
    ];
    return OPENAI_PREFIXES.flatMap((prefix) => apps.map((app) => ({ prefix, app })));
  },
  authentication: {
    // Both headers may be present: the SDK reads one of the keys from the environment unasked.
    presentedKeys(request) {
      const key = request.header("x-api-key");
      return [...(key ? [key] : []), ...BEARER.presentedKeys(request)];
    },
    instruction: "Send it as `x-api-key: <key>` or `Authorization: Bearer <key>`.",
  },
  errorEnvelope: (error, { id }) => toMessagesErrorReply(error, id),
  limits: ({ maxBodyBytes }) => ({ maxBodyBytes }),
};

/** Blocks have citations of their own, so links in the text would repeat them. */
function toCitationMode(setting: Settings["citations"]): Settings["citations"] {
  return setting === "raw" ? "raw" : "annotate";
}

const PATHS_OF_OTHERS =
  /^(?:\/api)?\/v1(?:\/v1)?\/(?:chat|completions|responses|conversations)(?:\/|$)/;
const PATHS = /^(?:\/api)?\/v1(?:\/v1)?\/(?:messages|complete)(?:\/|$)/;
