/** Chat Completions and the list of models, as OpenAI and OpenRouter have them. */
import { createKeySetting } from "../../config/key-setting.ts";
import { type Api, BEARER, OPENAI_PREFIXES } from "../api.ts";
import { errorCodesAt } from "../error-codes.ts";
import { mediaRules } from "../request/media.ts";
import { modelRoutes } from "../models.ts";
import { summarySettings } from "../reply/reasoning-summary.ts";
import { toKindLabel, toPlausibleNames } from "../tools/skipped-tools.ts";
import { toTurnDeps } from "../turn-deps.ts";
import { toErrorBody } from "./errors.ts";
import { chatCompletions } from "./route.ts";

export const chatCompletionsApi: Api = {
  name: "chat-completions",
  turnPath: "/chat/completions",
  // Claims every request that no other API claims: most clients that request an unknown path use this API.
  claims: () => true,
  routes(services) {
    const { settings, toolbox, readsPdfs, log, meters } = services;
    const lists = { messageLists: ["messages"], toolLists: ["tools", "functions"] };
    const chat = chatCompletions({
      ...toTurnDeps(services, lists),
      toolNamespaces: settings.toolNamespaces,
      media: mediaRules(settings.mediaInput, "refuse"),
      summaries: summarySettings(settings),
      mirrorReasoning: createKeySetting(settings, "reasoningContentMirror"),
      onSkipped(id, kinds) {
        log.info("tools skipped", { id, kinds: toPlausibleNames(kinds) });
        for (const kind of kinds) meters.toolsSkipped.add({ kind: toKindLabel(kind) });
      },
    });
    const models = modelRoutes({
      seesImages: settings.visionUrl !== undefined,
      readsPdfs,
      toolbox,
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
  limits: ({ maxBodyBytes }) => ({ maxBodyBytes }),
};
