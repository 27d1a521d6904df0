/** Reads a completion's request, restores its reasoning and makes its turn. */
import type { Context } from "hono";
import type { Model, Models } from "../../models/models.ts";
import { worstOutcome } from "../../store/reasoning-store.ts";
import type { ResponseHeaders } from "../../telemetry/response-headers.ts";
import type { Turn } from "../../turn/turn.ts";
import { errorCodesAt } from "../error-codes.ts";
import { RequestError } from "../errors.ts";
import { type WantedSummary, wantedSummary } from "../reply/reasoning-summary.ts";
import { mediaHeader } from "../media/media-counts.ts";
import type { RequestMedia } from "../media/request-media.ts";
import { PrefillNote } from "../reply/prefill-note.ts";
import { type ReadBody, readBody } from "../request/body-memory.ts";
import type { ApiEnv, Client, ReasoningPolicy } from "../request/client.ts";
import { readRequest } from "../request/parse-request.ts";
import { type ReasoningOptions, usedEffort } from "../request/reasoning-options.ts";
import { namedModel, type RequestedModel, requestedModel } from "../request/requested-model.ts";
import { createStages, type Stages } from "../request/stages.ts";
import { listAvailable, UNKNOWN_MODEL_REASON } from "../request/unknown-model.ts";
import { CODE_TOOL } from "../tools/client-builtins.ts";
import { skippedPlugins, toNameList } from "../tools/skipped-tools.ts";
import { trainedHeader } from "../trained/trained-tools.ts";
import type { ChatCompletionsDeps } from "./deps.ts";
import { openChatServers } from "./mcp-tools.ts";
import { withMediaTexts } from "./media.ts";
import { runningSteps } from "./reasoning-in.ts";
import { customToolNames, type ReplyOptions, type ShownReasoning } from "./reply.ts";
import { type ChatRequest, chatRequest } from "./request.ts";
import { withPreset } from "./with-preset.ts";
import { chatReasoning, toTurnInSteps, type ChatTurnContext } from "./to-turn.ts";

/** What is known of a request before anything is awaited for it. */
interface ReadCompletion {
  readonly body: ReadBody;
  readonly stages: Stages;
  readonly request: ChatRequest;
  readonly client: Client;
  readonly requestId: string;
  readonly sessionId: string | undefined;
  readonly requested: RequestedModel;
  readonly reasoning: ReasoningOptions;
  readonly media: RequestMedia;
  readonly now: number;
  readonly options: ReplyOptions;
  readonly headers: ResponseHeaders;
}

/** A request that is ready to run. */
export interface PreparedCompletion {
  readonly request: ChatRequest;
  readonly client: Client;
  readonly model: Model;
  readonly turn: Turn;
  readonly system: ChatTurnContext["system"];
  /** Undefined: its reasoning is not summarized. */
  readonly summary: WantedSummary | undefined;
  readonly options: ReplyOptions;
  readonly headers: ResponseHeaders;
}

/** Rejects with a {@link RequestError}. */
export async function readCompletion(
  c: Context<ApiEnv>,
  deps: ChatCompletionsDeps,
): Promise<ReadCompletion> {
  const client = c.get("client");
  const body = await readBody(c, deps.limits.messageLists, deps.pause);
  const stages = createStages(body.length, deps.pause);
  const sent = await readRequest(body.value, chatRequest, deps.limits, stages);
  const requested = requireModel(client.models, sent);
  const request = withPreset(sent, requested.preset);
  const media = deps.openMedia(client.tenant);
  c.set("media", media.counts);
  const reasoning = chatReasoning(request, requested.effort);
  const now = deps.now();
  const created = Math.floor(now / 1000);
  const id = `gen-${created}-${deps.randomId()}`;
  return {
    body,
    stages,
    request,
    client,
    requestId: c.get("requestId"),
    sessionId: c.req.header("x-session-id")?.slice(0, MAX_SESSION_ID),
    requested,
    reasoning,
    media,
    now,
    options: {
      ...requestedReply(request),
      id,
      created,
      model: requested.name,
      provider: requested.model.provider,
      reasoning: reasoning.exclude ? "hidden" : SHOWN[client.reasoningPolicy],
      mirrorReasoning: deps.mirrorReasoning(client.tenant),
      errorCodes: errorCodesAt(c.req.path),
    },
    headers: { "x-generation-id": id, "x-harmony-reasoning-effort": usedEffort(reasoning) },
  };
}

/** Everything else before the engine call. Rejects with a {@link RequestError}. */
export async function prepareCompletion(
  read: ReadCompletion,
  deps: ChatCompletionsDeps,
  signal: AbortSignal,
): Promise<PreparedCompletion> {
  const { body, client, requestId, requested, reasoning, media, options } = read;
  const { model, effort: namedEffort, preset } = requested;
  const { tenant } = client;
  const request = await withMediaTexts(read.request, { media, rules: deps.media }, signal);
  const system = deps.system(read.now);
  const { restored, sampled, outcome } = await restoreReasoning(request, tenant, deps);
  const { hosted, toolNamespaces: style } = deps;
  const servers = await openChatServers(request, { tenant, hosted, style, media });
  const steps = toTurnInSteps(request, {
    turnId: requestId,
    tenant,
    system,
    bodyText: body.outline,
    media: deps.media,
    namedEffort,
    preset,
    hosted,
    servers,
    style,
    shieldsNames: deps.nameShield(tenant, preset) === "on",
    restored,
    sampled,
    trainedTools: deps.trainedTools(tenant, preset),
    sessionId: read.sessionId,
  });
  const turn = await read.stages.run(steps);
  const skipped = skippedTools(request, requested, turn);
  if (skipped.length > 0) deps.onSkipped(requestId, skipped);
  return {
    request,
    client,
    model,
    turn,
    system,
    summary: reasoning.exclude
      ? undefined
      : wantedSummary(request.reasoning?.summary, client.reasoningPolicy, deps.summaries),
    options,
    headers: {
      ...read.headers,
      ...(outcome && { "x-harmony-cot": outcome }),
      ...mediaHeader(media.counts),
      ...(skipped.length > 0 && { "x-harmony-skipped-tools": toNameList(skipped) }),
      ...trainedHeader(turn),
    },
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

function requireModel(models: Models, request: ChatRequest): RequestedModel {
  const found = requestedModel(request, models);
  if (found) return found;
  const sentence = `${namedModel(request)} is not a valid model ID.`;
  throw new RequestError(sentence + listAvailable(models), {
    param: "model",
    errorType: "model_not_found",
    reason: UNKNOWN_MODEL_REASON,
  });
}

/** The reasoning of the running tool loop, by the index of its message, and its steps as they were sampled. */
async function restoreReasoning(
  request: ChatRequest,
  tenant: string,
  { reasoning }: Pick<ChatCompletionsDeps, "reasoning">,
) {
  const steps = runningSteps(request.messages);
  const callIds = [...steps.values()].toReversed().flatMap((step) => step.callIds);
  const stored = await reasoning.readCalls(
    tenant,
    callIds.filter((id) => id !== undefined),
  );
  const found = await reasoning.restore(tenant, [...steps.values()], stored);
  return {
    restored: new Map([...steps.keys()].map((key, at) => [key, found[at]?.reasoning ?? []])),
    sampled: stored.sampled,
    outcome: worstOutcome(found),
  };
}

function skippedTools(request: ChatRequest, { suffixes }: RequestedModel, turn: Turn): string[] {
  const plugins = [
    ...(request.plugins ?? []),
    ...(request.web_search_options ? [{ id: "web" }] : []),
  ];
  return skippedPlugins(plugins, suffixes, turn);
}

/** The options that the request's fields alone determine. */
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
