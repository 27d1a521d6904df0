/** Reads a response's request, loads its conversation and makes its turn. */
import { GPT_OSS_CONTEXT } from "../../engines/models-probe.ts";
import type { NamedEffort } from "../../models/model-name.ts";
import type { Model, Models } from "../../models/models.ts";
import { toPrivateModel } from "../../models/private-turns.ts";
import type { Preset } from "../../turn/preset.ts";
import type { Turn } from "../../turn/turn.ts";
import { refusal } from "../errors.ts";
import { AutoCompaction, reachesThreshold } from "../reply/auto-compaction.ts";
import { type HeldTurn, logprobBytes, refuseUnholdable } from "../reply/held-reply.ts";
import { summaryText } from "../reply/summary-text.ts";
import type { RequestMedia } from "../media/request-media.ts";
import type { ReadBody } from "../request/body-memory.ts";
import { readRequest } from "../request/parse-request.ts";
import { usedEffort } from "../request/reasoning-options.ts";
import { namedModel, type RequestedModel, requestedModel } from "../request/requested-model.ts";
import { createStages, type Stages } from "../request/stages.ts";
import { modelNotFound } from "../request/unknown-model.ts";
import { isHosted } from "../tools/hosted-tools.ts";
import { skippedPlugins } from "../tools/skipped-tools.ts";
import {
  asksForCompaction,
  compactionRule,
  toCompactionHistory,
  toCompactionRequest,
  withoutTriggers,
} from "./compaction.ts";
import type { Caller, ResponsesContext } from "./context.ts";
import { conversationTooLarge } from "./conversations.ts";
import { toFittingTurn } from "./fitting-turn.ts";
import type { HistoryItem } from "./history-item.ts";
import { loadContext, type RequestContext } from "./load-context.ts";
import { withMediaTexts } from "./media.ts";
import { openResponseServers } from "./mcp-tools.ts";
import { type Omissions, toOmissions } from "./omissions.ts";
import { type ResponsesRequest, responsesRequest } from "./request.ts";
import { ResponseBuilder, type ResponseBuilderOptions } from "./response-builder.ts";
import { responseTooLarge, toItemId } from "./response-store.ts";
import { createResponseWriter } from "./to-response.ts";
import { asksForLogprobs, requestedReasoning, turnMaker } from "./to-turn.ts";
import { withPreset } from "./with-preset.ts";

/** A request that is ready to run. */
export interface PreparedResponse {
  readonly id: string;
  readonly request: ResponsesRequest;
  readonly purpose: Purpose;
  readonly requested: RequestedModel;
  readonly turn: Turn;
  /** Undefined: the conversation is not compacted. */
  readonly compaction: AutoCompaction | undefined;
  readonly context: RequestContext;
  readonly omissions: Omissions;
  readonly caller: Caller;
  readonly media: RequestMedia;
  /** Include encrypted reasoning for the client to send back. */
  readonly seal: boolean;
  readonly builder: ResponseBuilder;
}

type Purpose = "answer" | "compaction" | "prewarm";

/** What is known of a request before anything is awaited for it. */
interface ReadResponse {
  readonly purpose: Purpose;
  readonly body: ReadBody;
  readonly stages: Stages;
  readonly request: ResponsesRequest;
  /** The same, or the request for a summary. */
  readonly asked: ResponsesRequest;
  /** Of `asked`. */
  readonly namedEffort: NamedEffort | undefined;
  readonly found: RequestedModel;
  readonly effort: NamedEffort;
  readonly media: RequestMedia;
}

/** Rejects with a `RequestError`. */
export async function readResponse(
  body: ReadBody,
  { client }: Pick<Caller, "client">,
  deps: ResponsesContext,
): Promise<ReadResponse> {
  const stages = createStages(body.length, deps.pause);
  const received = await readRequest(body.value, responsesRequest, deps.limits, stages);
  refuseUnsupported(received);
  const found = requireModel(client.models, received);
  const request = withPreset(received, found.preset);
  const purpose = toPurpose(request);
  const isCompaction = purpose === "compaction";
  const asked = isCompaction ? toCompactionRequest(request) : request;
  // A summary takes little thought.
  const namedEffort = isCompaction ? undefined : found.effort;
  const effort = usedEffort(requestedReasoning(asked, namedEffort));
  const media = deps.openMedia(client.tenant);
  return { purpose, body, stages, request, asked, namedEffort, found, effort, media };
}

/** Everything else before the engine call. Rejects with a `RequestError`. */
export async function prepareResponse(
  read: ReadResponse,
  caller: Caller,
  deps: ResponsesContext,
): Promise<PreparedResponse> {
  const { purpose, body, stages, request, asked, namedEffort, found, effort, media } = read;
  const now = deps.now();
  const id = `resp_${deps.randomId()}`;
  const loaded = await loadKeepable(request, found.model, { id, body, caller }, deps);
  const requested = loaded.isPrivate ? { ...found, model: toPrivateModel(found.model) } : found;
  await stages.next();
  const reading = { media, rules: deps.unsupported.media };
  const history = await withMediaTexts(loaded.history, reading, caller.signal);
  const context = { ...loaded, history };
  const parts = { request: asked, namedEffort, requested, purpose, context, media, body, caller };
  const { turn, compaction, targets, listings, omissions } = await prepareTurn(parts, stages, deps);
  refuseUnholdable(
    { turn, contextLength: requested.model.contextLength },
    deps.replies.tenantBytes,
  );
  deps.onOmissions(caller.requestId, omissions);
  const builder = new ResponseBuilder({
    ...requestedReply(request),
    toResponse: createResponseWriter(
      request,
      {
        id,
        createdAt: toSeconds(now),
        model: requested.name,
        effort,
        parallelToolCalls: turn.parallelToolCalls,
        ...(context.conversation !== undefined && { conversation: context.conversation }),
      },
      (kind) => isHosted(kind, deps.hosted),
    ),
    toItemId: (prefix, index) => toItemId(id, prefix, index),
    targets,
    listings,
    now: () => toSeconds(deps.now()),
    showReasoning: caller.client.reasoningPolicy === "raw",
    isCodex: caller.isCodex,
    // Nothing but the context can cut the answer then.
    isUnlimited: request.max_output_tokens == null && requested.model.contextLength !== undefined,
  });
  const seal = isSealed(request, caller);
  return {
    id,
    request,
    purpose,
    requested,
    turn,
    compaction,
    context,
    omissions,
    caller,
    media,
    seal,
    builder,
  };
}

/** For the rule of `held-reply.ts`. */
export function toHeldTurn({ turn, requested, caller }: PreparedResponse): HeldTurn {
  return { turn, contextLength: requested.model.contextLength, signal: caller.signal };
}

export function requireModel(
  models: Models,
  request: Pick<ResponsesRequest, "model" | "models" | "preset">,
): RequestedModel {
  const found = requestedModel(request, models);
  if (found) return found;
  throw modelNotFound(`The model ${JSON.stringify(namedModel(request))} does not exist.`, models);
}

function refuseUnsupported(request: ResponsesRequest): void {
  if (request.prompt !== undefined && request.prompt !== null) {
    throw refusal("prompt", "stored prompts are not supported");
  }
  if (request.background && request.store === false) {
    throw refusal("background", "background responses must be stored");
  }
}

/** Loads the conversation. Refuses what could not be stored, if the response is to be stored. */
async function loadKeepable(
  request: ResponsesRequest,
  model: Model,
  { id, body, caller }: { id: string; body: ReadBody; caller: Caller },
  deps: ResponsesContext,
): Promise<RequestContext> {
  const isKept = (request.store ?? true) || Boolean(request.conversation);
  if (!isKept) return loadContext(request, id, caller, deps);
  await deps.store.check();
  const context = await loadContext(request, id, caller, deps);
  refuseUnkeepable(request, model, context, body.text().length, deps.store.maxEntryBytes);
  return context;
}

/** Without an output limit, an answer of so many tokens must fit into the store with its input. */
const USUAL_ANSWER_TOKENS = 8192;
const BYTES_PER_TOKEN = 6;

/** Refuses, before generation, a response that would be too large to be stored. */
function refuseUnkeepable(
  request: ResponsesRequest,
  model: Model,
  context: RequestContext,
  bodySize: number,
  maxEntryBytes: number,
): void {
  const answerTokens = Math.min(
    request.max_output_tokens ?? USUAL_ANSWER_TOKENS,
    model.contextLength ?? GPT_OSS_CONTEXT,
  );
  const size = bodySize + context.referencedSize + answerTokens * BYTES_PER_TOKEN;
  const isStored = request.store ?? true;
  const isAdded = context.conversation !== undefined;
  if (isStored && size > maxEntryBytes) throw responseTooLarge("input");
  if (isAdded && context.earlierSize + size > maxEntryBytes) throw conversationTooLarge();
  // Without an output limit, they are refused where they have become too many.
  if (request.max_output_tokens == null || !asksForLogprobs(request)) return;
  const whole = size + logprobBytes(answerTokens, request.top_logprobs ?? 0);
  if (
    (isStored ? whole : 0) > maxEntryBytes ||
    (isAdded ? context.earlierSize + whole : 0) > maxEntryBytes
  ) {
    throw responseTooLarge("top_logprobs");
  }
}

function toPurpose(request: ResponsesRequest): Purpose {
  if (asksForCompaction(request)) return "compaction";
  return request.generate === false ? "prewarm" : "answer";
}

interface TurnParts {
  readonly request: ResponsesRequest;
  readonly namedEffort: NamedEffort | undefined;
  readonly requested: RequestedModel;
  readonly purpose: Purpose;
  readonly context: RequestContext;
  readonly media: RequestMedia;
  readonly body: ReadBody;
  readonly caller: Caller;
}

async function prepareTurn(
  { request, namedEffort, requested, purpose, context, media, body, caller }: TurnParts,
  stages: Stages,
  deps: ResponsesContext,
) {
  const { model } = requested;
  const history =
    purpose === "compaction"
      ? toCompactionHistory(context.history)
      : withoutTriggers(context.history);
  const prompt = toPromptContext(body.outline, caller.client.tenant, requested.preset, deps);
  const servers = await openResponseServers(request, history, { ...prompt, media });
  const maker = turnMaker(request, {
    ...prompt,
    history,
    toolStates: context.toolStates,
    sampled: context.sampled,
    servers,
    turnId: caller.requestId,
    namedEffort,
  });
  const { turnOf, targets, skipped } = await stages.run(maker);
  const fitting = (items: readonly HistoryItem[]) =>
    toFittingTurn(request, model, { turnOf, prompt, history: items }, deps.pause);
  const { turn, keptTokens } = await fitting(history);
  await stages.next();
  const plan = {
    whole: turn,
    after: async (summary: string) =>
      (await fitting([...history, { type: "summary", text: summaryText(summary) }])).turn,
    pauses: false,
  };
  const rule = purpose === "answer" ? compactionRule(request) : undefined;
  const { compact_threshold: threshold } = rule ?? {};
  const isLong =
    rule &&
    (await reachesThreshold({ turn, keptTokens }, threshold ?? undefined, model, caller.signal));
  const compaction = isLong ? new AutoCompaction(plan) : undefined;
  const plugins = skippedPlugins(request.plugins, requested.suffixes, turn);
  const omissions = toOmissions([...skipped, ...plugins], history, turn, model.capabilities);
  return { turn, compaction, targets, listings: servers.listings, omissions };
}

/** The context of the request's prompts: the settings that apply to its key and its preset. */
export function toPromptContext(
  bodyText: string,
  tenant: string,
  preset: Preset | undefined,
  { system, now, unsupported, style, maxTools, hosted, nameShield, trainedTools }: ResponsesContext,
) {
  return {
    tenant,
    bodyText,
    preset,
    system: system(now()),
    unsupported,
    style,
    maxTools,
    hosted,
    shieldsNames: nameShield(tenant, preset) === "on",
    trainedTools: trainedTools(tenant, preset),
  };
}

/** The options that the request's fields alone determine. */
function requestedReply({
  include,
  background,
}: ResponsesRequest): Pick<ResponseBuilderOptions, "includes" | "queued"> {
  return {
    includes: {
      sources: include?.includes("web_search_call.action.sources") ?? false,
      results: include?.includes("web_search_call.results") ?? false,
      outputs: include?.includes("code_interpreter_call.outputs") ?? false,
    },
    queued: background ?? false,
  };
}

function isSealed({ include }: ResponsesRequest, { client }: Caller): boolean {
  const policy = client.reasoningPolicy;
  const isWanted = include?.includes("reasoning.encrypted_content") ?? false;
  return policy === "sealed" || ((policy === "raw" || policy === "summary") && isWanted);
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
