/** The codec of Chat Completions: reads a request, prepares the turn and writes the reply. */
import type { Models } from "../../models/models.ts";
import { createKeySetting } from "../../config/key-setting.ts";
import type { ResponseHeaders } from "../../telemetry/response-headers.ts";
import type { Preset } from "../../turn/preset.ts";
import type { Turn, TurnEvent } from "../../turn/turn.ts";
import type { Services } from "../api.ts";
import { errorCodesAt } from "../error-codes.ts";
import { RequestError } from "../errors.ts";
import { isAnswerEmpty } from "../reply/empty-answer.ts";
import { PrefillNote } from "../reply/prefill-note.ts";
import {
  summarySettings,
  type WantedSummary,
  wantedSummary,
  withSummaries,
} from "../reply/reasoning-summary.ts";
import { untilAnyBegun } from "../reply/wait-for-first-event.ts";
import { presetMaxTokens, presetSampling } from "../request/apply-preset.ts";
import type { Client, ReasoningPolicy } from "../request/client.ts";
import { toMediaRules } from "../request/content-text.ts";
import {
  listAvailable,
  type RequestedModel,
  UNKNOWN_MODEL_REASON,
} from "../request/requested-model.ts";
import { CODE_TOOL } from "../tools/client-trained-tools.ts";
import { isHosted } from "../tools/hosted-tools.ts";
import { toToolSearch } from "../tools/tool-search.ts";
import { noteSkippedTools, skippedPlugins, toNameList } from "../tools/skipped-tools.ts";
import {
  type BegunTurn,
  effortHeader,
  type PreparedTurn,
  toTurnContext,
  type TurnCodec,
  turnHeaders,
} from "../turn/serve-turn.ts";
import { restoreReasoning, withMediaTexts } from "./history.ts";
import { customToolNames, type ReplyOptions, type ShownReasoning } from "./reply.ts";
import { type ChatRequest, chatRequest } from "./request.ts";
import { toFailureFrames, toFrames } from "./to-chunks.ts";
import { collectChoice, toCompletion } from "./to-completion.ts";
import { chatReasoning, toTurnInSteps } from "./to-turn.ts";
import { openChatServers } from "./tools.ts";

interface BegunCompletion extends BegunTurn<ChatRequest> {
  readonly sessionId: string | undefined;
  readonly options: ReplyOptions;
}

interface PreparedCompletion extends PreparedTurn {
  readonly request: ChatRequest;
  readonly client: Client;
  readonly system: ReturnType<Services["system"]>;
  /** Undefined: the reasoning is not summarized. */
  readonly summary: WantedSummary | undefined;
  readonly options: ReplyOptions;
  readonly headers: ResponseHeaders;
}

export function chatCodec(
  services: Services,
): TurnCodec<ChatRequest, BegunCompletion, PreparedCompletion> {
  const { settings, pause } = services;
  const mirrorReasoning = createKeySetting(settings, "reasoningContentMirror");
  return {
    limits: { ...settings, messageLists: ["messages"], toolLists: ["tools", "functions"] },
    schema: chatRequest,
    unknownModel,
    withPreset,
    reasoning: chatReasoning,
    begin(read, c) {
      const { request, client, requested, reasoning } = read;
      const created = Math.floor(read.now / 1000);
      const id = `gen-${created}-${services.randomId()}`;
      const errorCodes = errorCodesAt(c.req.path);
      const mirrored = mirrorReasoning(client.tenant);
      return {
        ...read,
        sessionId: c.req.header("x-session-id")?.slice(0, MAX_SESSION_ID),
        options: {
          ...requestedReply(request),
          id,
          created,
          model: requested.name,
          provider: requested.model.provider,
          reasoning: reasoning.exclude ? "hidden" : SHOWN[client.reasoningPolicy],
          mirrorReasoning: mirrored,
          // OpenRouter's clients send reasoning back from this field only.
          detailsText: mirrored || errorCodes === "integers",
          errorCodes,
        },
        headers: { "x-generation-id": id, ...effortHeader(reasoning) },
      };
    },
    prepare: (read, signal) => prepare(read, services, signal),
    headers: ({ headers }) => headers,
    choices: ({ request }) => request.n ?? 1,
    async collect(prepared, held, abort) {
      const choices = run(prepared, services, abort.signal);
      const finished = await stoppingAll(abort, () =>
        Promise.all(choices.map((events) => collectChoice(events, prepared.options, held))),
      );
      const isEmpty = finished.some(({ end }) => isAnswerEmpty(end));
      return { body: toCompletion(finished, prepared.options), isEmpty };
    },
    async open(prepared, opening, abort) {
      const { options } = prepared;
      const choices = run(prepared, services, opening.signal);
      const begun = await stoppingAll(abort, () => untilAnyBegun(choices, opening));
      return {
        frames: toFrames(begun, options, abort, { ...opening, pause }),
        ...(options.prefill && { keepAlive: options.prefill.keepAlive }),
      };
    },
    toFailure: (error, { options }) => toFailureFrames(error, options),
  };
}

/** The limit of the field with the same name. */
const MAX_SESSION_ID = 256;

const SHOWN: Record<ReasoningPolicy, ShownReasoning> = {
  raw: "text",
  sealed: "sealed",
  summary: "summary",
  none: "hidden",
};

function unknownModel(name: string, models: Models): RequestError {
  return new RequestError(`${name} is not a valid model ID.${listAvailable(models)}`, {
    param: "model",
    errorType: "model_not_found",
    reason: UNKNOWN_MODEL_REASON,
  });
}

function withPreset(request: ChatRequest, preset: Preset): ChatRequest {
  const { reasoning, reasoning_effort: shorthand } = request;
  const maxTokens = presetMaxTokens(request.max_completion_tokens ?? request.max_tokens, preset);
  const asksForEffort =
    (shorthand ?? reasoning?.effort ?? reasoning?.max_tokens ?? reasoning?.enabled) != null;
  return {
    ...request,
    ...presetSampling(request, preset),
    ...(maxTokens !== undefined && { max_completion_tokens: maxTokens }),
    ...(preset.effort !== undefined && !asksForEffort && { reasoning_effort: preset.effort }),
  };
}

async function prepare(
  read: BegunCompletion,
  services: Services,
  signal: AbortSignal,
): Promise<PreparedCompletion> {
  const { body, client, requested, reasoning, media, options, sessionId } = read;
  const { tenant } = client;
  const { settings } = services;
  const mediaRules = toMediaRules(settings.mediaInput, "refuse");
  const request = await withMediaTexts(read.request, { media, mediaRules }, signal);
  const { restored, sampled, outcome } = await restoreReasoning(request, tenant, services);
  const context = toTurnContext({ ...read, tenant, bodyText: body.outline }, services);
  const servers = await openChatServers(request, { ...context, media });
  const turn = await read.stages.run(
    toTurnInSteps(request, { ...context, mediaRules, servers, restored, sampled, sessionId }),
  );
  const skipped = skippedTools(request, requested, turn, services);
  noteSkippedTools(skipped, read.requestId, services);
  return {
    request,
    client,
    model: requested.model,
    turn,
    system: context.system,
    summary: reasoning.exclude
      ? undefined
      : wantedSummary(
          request.reasoning?.summary,
          client.reasoningPolicy,
          summarySettings(settings),
        ),
    options,
    headers: {
      ...read.headers,
      ...turnHeaders(read, turn, outcome),
      ...(skipped.length > 0 && { "x-harmony-skipped-tools": toNameList(skipped) }),
    },
  };
}

function skippedTools(
  request: ChatRequest,
  { suffixes }: RequestedModel,
  turn: Turn,
  { hosted }: Pick<Services, "hosted">,
): string[] {
  const plugins = [
    ...(request.plugins ?? []),
    ...(request.web_search_options ? [{ id: "web" }] : []),
    ...(request.tools ?? []).flatMap((tool) =>
      tool.type === "hosted" && !isHosted(tool.kind, hosted) && !toToolSearch(tool.kind)
        ? [{ id: tool.kind }]
        : [],
    ),
  ];
  return skippedPlugins(plugins, suffixes, turn);
}

/** The reply options that depend on the request's fields alone. */
function requestedReply(request: ChatRequest) {
  return {
    legacyFunctions: !request.tools && Boolean(request.functions),
    customTools: customToolNames(request),
    codeTool: request.builtin_tools?.includes(CODE_TOOL) ? CODE_TOOL : undefined,
    usageWithoutChoices: request.stream_options?.include_usage ?? false,
    logprobs: request.logprobs ?? false,
    prefill: new PrefillNote(),
    returnsProgress: request.return_progress ?? false,
  };
}

/** The events of each choice. Their reasoning is stored for later requests. */
function run(
  prepared: PreparedCompletion,
  services: Services,
  signal: AbortSignal,
): AsyncIterable<TurnEvent>[] {
  const choices = { length: prepared.request.n ?? 1 };
  return Array.from(choices, (_, index) => runChoice(prepared, index, services, signal));
}

function runChoice(
  { client, model, turn, system, summary, options }: PreparedCompletion,
  index: number,
  { reasoning, pause }: Services,
  signal: AbortSignal,
): AsyncIterable<TurnEvent> {
  const kept = reasoning.keep(model.run(withSeed(turn, index), signal), {
    tenant: client.tenant,
    seal: options.reasoning === "sealed",
    carry: options.reasoning !== "hidden",
  });
  if (summary === undefined) return kept;
  return withSummaries(kept, { ...summary, model, turn, system, signal, pause });
}

/** A seed per choice: with one seed for all, the choices would be identical. */
function withSeed(turn: Turn, index: number): Turn {
  const { seed } = turn.sampling;
  if (seed === undefined || index === 0) return turn;
  return { ...turn, sampling: { ...turn.sampling, seed: seed + index } };
}

/** If one of several choices fails, the others are stopped. */
async function stoppingAll<T>(abort: AbortController, choices: () => Promise<T>): Promise<T> {
  try {
    return await choices();
  } catch (error) {
    abort.abort(error);
    throw error;
  }
}
