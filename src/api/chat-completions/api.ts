/** Chat Completions and the list of models, as OpenAI and OpenRouter have them. */
import { systemOptions } from "../../config/system-options.ts";
import { createKeySetting, createRequestSetting } from "../../config/key-setting.ts";
import { type Api, BEARER, OPENAI_PREFIXES } from "../api.ts";
import { errorCodesAt } from "../error-codes.ts";
import { hostedDeps } from "../tools/hosted-tools.ts";
import { mediaRules } from "../request/media.ts";
import { modelRoutes } from "../models.ts";
import { summarySettings } from "../reply/reasoning-summary.ts";
import { toKindLabel } from "../tools/skipped-tools.ts";
import { toErrorBody } from "./errors.ts";
import { chatCompletions } from "./route.ts";

export const chatCompletionsApi: Api = {
  name: "chat-completions",
  turnPath: "/chat/completions",
  // Claims every request that no other API claims: most clients that request an unknown path use this API.
  claims: () => true,
  routes({ settings, toolbox, log, meters, ...services }) {
    const chat = chatCompletions({
      ...services,
      hosted: hostedDeps(settings, toolbox),
      toolNamespaces: settings.toolNamespaces,
      nameShield: createRequestSetting(settings, "nameShield"),
      trainedTools: createRequestSetting(settings, "trainedTools"),
      system: (now) => systemOptions(settings, now),
      media: mediaRules(settings.mediaInput, "refuse"),
      limits: { ...settings, messageLists: ["messages"], toolLists: ["tools", "functions"] },
      summaries: summarySettings(settings),
      mirrorReasoning: createKeySetting(settings, "reasoningContentMirror"),
      keepAliveMs: settings.keepAliveMs,
      clientIdleTimeoutMs: settings.clientIdleTimeoutMs,
      onSkipped(id, kinds) {
        log.info("tools skipped", { id, kinds });
        for (const kind of kinds) meters.toolsSkipped.add({ kind: toKindLabel(kind) });
      },
    });
    const models = modelRoutes({
      seesImages: settings.visionUrl !== undefined,
      readsPdfs: services.readsPdfs,
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
