/** The Responses API and its conversations, over HTTP and WebSocket, in OpenAI's spelling and in that of Open Responses. */
import { createKeySetting } from "../../config/key-setting.ts";
import { type Api, BEARER, OPENAI_PREFIXES } from "../api.ts";
import { errorCodesAt } from "../error-codes.ts";
import { toTurnDeps } from "../turn-deps.ts";
import { Background } from "./background.ts";
import { mediaRules } from "../request/media.ts";
import { summarySettings } from "../reply/reasoning-summary.ts";
import { toKindLabel, toPlausibleName, toPlausibleNames } from "../tools/skipped-tools.ts";
import { createResponsesContext } from "./context.ts";
import { toErrorMember } from "./errors.ts";
import { logMessages } from "./log-messages.ts";
import { responses } from "./route.ts";

/** The same API with the event names of the Open Responses schema. */
const OPEN_RESPONSES_PREFIX = "/open-responses/v1";

export const responsesApi: Api = {
  name: "responses",
  turnPath: "/responses",
  claims: ({ path }) =>
    path.startsWith(`${OPEN_RESPONSES_PREFIX}/`) ||
    /^(\/api)?\/v1\/(responses|conversations)(\/|$)/.test(path),
  routes(services) {
    const { settings, webSockets, log, meters, audit, clock } = services;
    const context = createResponsesContext({
      ...services,
      ...toTurnDeps(services, { messageLists: ["input"], toolLists: ["tools"] }),
      ttlSeconds: settings.storeTtlSeconds,
      maxBodyBytes: settings.maxBodyBytes,
      unsupported: {
        kinds: settings.unsupportedTools,
        media: mediaRules(settings.mediaInput, "refuse"),
      },
      style: settings.toolNamespaces,
      maxTools: settings.maxTools,
      summaries: summarySettings(settings),
      reasoningEvents: createKeySetting(settings, "reasoningEvents"),
      maxBackgroundOf: createKeySetting(settings, "maxBackgroundPerKey"),
      maxBackground: settings.maxBackground,
      maxSocketsOf: createKeySetting(settings, "maxSocketsPerKey"),
      beginMessage: logMessages(log, clock, audit),
      onIgnoredMessage: (id, type) =>
        log.info("message ignored", { id, type: toPlausibleName(type) }),
      onOmissions(id, { tools, items, unenforced }) {
        if (tools.length > 0) log.info("tools skipped", { id, kinds: toPlausibleNames(tools) });
        if (items.length > 0) log.info("items skipped", { id, kinds: toPlausibleNames(items) });
        if (unenforced.length > 0) {
          log.info("formats not enforced", { id, tools: toPlausibleNames(unenforced) });
        }
        for (const kind of tools) meters.toolsSkipped.add({ kind: toKindLabel(kind) });
      },
      onRestored: (outcome) => meters.reasoningReturned.add({ outcome }),
    });
    const background = new Background(context);
    const app = responses(context, background, webSockets);
    return [
      ...OPENAI_PREFIXES.map((prefix) => ({ prefix, app })),
      {
        prefix: OPEN_RESPONSES_PREFIX,
        app: responses({ ...context, reasoningEvents: () => "reasoning" }, background, webSockets),
      },
    ];
  },
  authentication: BEARER,
  errorEnvelope: (error, { path }) => ({
    status: error.status,
    body: { error: toErrorMember(error, errorCodesAt(path)) },
  }),
  limits: ({ maxBodyBytes }) => ({ maxBodyBytes }),
  webSocketPaths: [...OPENAI_PREFIXES, OPEN_RESPONSES_PREFIX].map(
    (prefix) => `${prefix}/responses`,
  ),
};
