/** Reads a response's request, loads its conversation and makes its turn. */
import { GPT_OSS_CONTEXT } from "../../engines/models-probe.ts";
import { lazy } from "../../lazy.ts";
import type { Model, Models } from "../../models/models.ts";
import { toPrivateModel } from "../../models/private-turns.ts";
import type { Preset } from "../../turn/preset.ts";
import { refusal, type RequestError } from "../errors.ts";
import { AutoCompaction, reachesThreshold } from "../reply/auto-compaction.ts";
import { type HeldTurn, logprobBytes, refuseUnholdable } from "../reply/held-reply.ts";
import { summaryText } from "../reply/summary-text.ts";
import { presetMaxTokens, presetSampling } from "../request/apply-preset.ts";
import type { ReadBody } from "../request/body-memory.ts";
import { usedEffort } from "../request/reasoning-options.ts";
import { modelNotFound, type RequestedModel } from "../request/requested-model.ts";
import { isHosted } from "../tools/hosted-tools.ts";
import { toToolSearch } from "../tools/tool-search.ts";
import { skippedPlugins } from "../tools/skipped-tools.ts";
import { type ComparedPrompt, diagnoseCache, readCompared } from "../turn/cache-diagnosis.ts";
import {
  type PreparedTurn,
  type ReadTurn,
  type RequestCodec,
  toTurnContext,
} from "../turn/serve-turn.ts";
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
import { withMediaTexts } from "./history.ts";
import { openResponseServers } from "./mcp-items.ts";
import { noteOmissions, type Omissions, toOmissions } from "./omissions.ts";
import { type PromptRequest, type ResponsesRequest, responsesRequest } from "./request.ts";
import { ResponseBuilder, type ResponseBuilderOptions } from "./response-builder.ts";
import { responseTooLarge, toItemId } from "./response-store.ts";
import { createResponseWriter } from "./to-response.ts";
import { asksForLogprobs, requestedReasoning, turnMaker, withUpdates } from "./to-turn.ts";

/** A request that is ready to run. */
export interface PreparedResponse extends PreparedTurn {
  readonly id: string;
  readonly request: ResponsesRequest;
  readonly purpose: Purpose;
  readonly requested: RequestedModel;
  /** Undefined: the conversation is not compacted. */
  readonly compaction: AutoCompaction | undefined;
  readonly context: RequestContext;
  readonly omissions: Omissions;
  readonly caller: Caller;
  readonly read: Pick<ReadTurn<ResponsesRequest>, "reasoning" | "media" | "unread">;
  /** Whether encrypted reasoning is included for the client to send back. */
  readonly seal: boolean;
  readonly builder: ResponseBuilder;
}

type Purpose = "answer" | "compaction" | "prewarm";

/** The reader of the route's requests. */
export function responsesReader({ limits }: ResponsesContext): RequestCodec<ResponsesRequest> {
  return {
    limits,
    schema: responsesRequest,
    refuse: refuseUnsupported,
    unknownModel,
    withPreset,
    toSummary: (request) => (asksForCompaction(request) ? toCompactionRequest(request) : undefined),
    reasoning: requestedReasoning,
  };
}

/** Prepares a response, between reading and the engine call. Rejects with a `RequestError`. */
export async function prepareResponse(
  read: ReadTurn<ResponsesRequest>,
  caller: Caller,
  deps: ResponsesContext,
): Promise<PreparedResponse> {
  const { body, stages, asked, requested: found, media, now } = read;
  const purpose = toPurpose(read);
  const id = `resp_${deps.randomId()}`;
  const loaded = await loadKeepable(read.request, found.model, { id, body, caller }, deps);
  const requested = loaded.isPrivate ? { ...found, model: toPrivateModel(found.model) } : found;
  await stages.next();
  const reading = { media, mediaRules: deps.unsupported.mediaRules };
  const history = await withMediaTexts(loaded.history, reading, caller.signal);
  const context = { ...loaded, history };
  const request = withUpdates(read.request, history);
  const reasoning = requestedReasoning(
    purpose === "compaction" ? asked : request,
    read.namedEffort,
  );
  const parts = { read, request: asked, requested, purpose, context, signal: caller.signal };
  const { turn, compaction, targets, listings, omissions } = await prepareTurn(parts, deps);
  const { model } = requested;
  refuseUnholdable({ turn, contextLength: model.contextLength }, deps.replies.tenantBytes);
  noteOmissions(omissions, caller.requestId, deps);
  const compared = await findCompared(request, caller, deps);
  const builder = new ResponseBuilder({
    ...requestedReply(request),
    toResponse: createResponseWriter(
      request,
      {
        id,
        ...(compared && {
          diagnose: lazy(() => diagnoseCache(compared, { turn, model, compaction })),
        }),
        createdAt: toSeconds(now),
        model: requested.name,
        effort: usedEffort(reasoning),
        parallelToolCalls: turn.parallelToolCalls,
        ...(context.conversation !== undefined && { conversation: context.conversation }),
      },
      (kind) => isHosted(kind, deps.hosted) || toToolSearch(kind) !== undefined,
    ),
    toItemId: (prefix, index) => toItemId(id, prefix, index),
    targets,
    findDeferred: (name) => turn.gatewayTools?.deferred?.functions.find(name),
    listings,
    now: () => toSeconds(deps.now()),
    showReasoning: caller.client.reasoningPolicy === "raw",
    isCodex: caller.isCodex,
    // Without an output limit, only the context can truncate the answer.
    isUnlimited: request.max_output_tokens == null && model.contextLength !== undefined,
  });
  const seal = isSealed(request, caller);
  return {
    id,
    request,
    purpose,
    requested,
    model,
    turn,
    compaction,
    context,
    omissions,
    caller,
    read: { ...read, reasoning },
    seal,
    builder,
  };
}

/** Undefined: the request asks for no comparison. */
async function findCompared(
  { prompt_cache_options: options }: ResponsesRequest,
  { client: { tenant }, responses, signal }: Caller,
  deps: ResponsesContext,
): Promise<ComparedPrompt | undefined> {
  const id = options?.comparison_response_id;
  if (id == null) return undefined;
  return readCompared(() => deps.readStored(tenant, { signal }, () => responses.get(tenant, id)));
}

/** The input for the rule in `held-reply.ts`. */
export function toHeldTurn({ turn, model, caller }: PreparedResponse): HeldTurn {
  return { turn, contextLength: model.contextLength, signal: caller.signal };
}

export function unknownModel(name: string, models: Models): RequestError {
  return modelNotFound(`The model ${JSON.stringify(name)} does not exist.`, models);
}

function refuseUnsupported(request: ResponsesRequest): void {
  if (request.prompt !== undefined && request.prompt !== null) {
    throw refusal("prompt", "stored prompts are not supported");
  }
  if (request.background && request.store === false) {
    throw refusal("background", "background responses must be stored");
  }
}

/** Loads the conversation. If the response is to be stored, refuses content that cannot be stored. */
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

/** Assumed tokens of an answer without an output limit: it must fit into the store with its input. */
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
  // Without an output limit, log probabilities are refused when they have become too many.
  if (request.max_output_tokens == null || !asksForLogprobs(request)) return;
  const whole = size + logprobBytes(answerTokens, request.top_logprobs ?? 0);
  if (
    (isStored ? whole : 0) > maxEntryBytes ||
    (isAdded ? context.earlierSize + whole : 0) > maxEntryBytes
  ) {
    throw responseTooLarge("top_logprobs");
  }
}

function withPreset(request: ResponsesRequest, preset: Preset): ResponsesRequest {
  const maxTokens = presetMaxTokens(request.max_output_tokens, preset);
  return {
    ...withPresetEffort(request, preset),
    ...presetSampling(request, preset),
    ...(maxTokens !== undefined && { max_output_tokens: maxTokens }),
  };
}

/** Applies the preset's values that change the prompt. */
export function withPresetEffort<R extends Pick<PromptRequest, "reasoning">>(
  request: R,
  preset: Preset | undefined,
): R {
  const { effort, enabled, max_tokens: budget } = request.reasoning ?? {};
  if (preset?.effort === undefined || (effort ?? enabled ?? budget) != null) return request;
  return { ...request, reasoning: { ...request.reasoning, effort: preset.effort } };
}

function toPurpose({ isSummary, request }: ReadTurn<ResponsesRequest>): Purpose {
  if (isSummary) return "compaction";
  const isPrewarm = request.prompt_cache_options?.prewarm ?? request.generate === false;
  return isPrewarm ? "prewarm" : "answer";
}

interface TurnParts {
  readonly read: ReadTurn<ResponsesRequest>;
  /** The request, or the request for a summary. */
  readonly request: ResponsesRequest;
  readonly requested: RequestedModel;
  readonly purpose: Purpose;
  readonly context: RequestContext;
  readonly signal: AbortSignal;
}

async function prepareTurn(
  { read, request, requested, purpose, context, signal }: TurnParts,
  deps: ResponsesContext,
) {
  const { model } = requested;
  const { stages, media, body, client } = read;
  const history =
    purpose === "compaction"
      ? toCompactionHistory(context.history)
      : withoutTriggers(context.history);
  const { tenant } = client;
  const prompt = toPromptContext({ ...read, tenant, bodyText: body.outline }, deps);
  const servers = await openResponseServers(request, history, { ...prompt, media });
  const maker = turnMaker(request, {
    ...prompt,
    history,
    sampled: context.sampled,
    servers,
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
    rule && (await reachesThreshold({ turn, keptTokens }, threshold ?? undefined, model, signal));
  const compaction = isLong ? new AutoCompaction(plan) : undefined;
  const plugins = skippedPlugins(request.plugins, requested.suffixes, turn);
  const omissions = toOmissions([...skipped, ...plugins], history, turn, model.capabilities);
  return { turn, compaction, targets, listings: servers.listings, omissions };
}

/** The context of the request's prompts: the settings that apply to its key and its preset. */
export function toPromptContext(
  read: Parameters<typeof toTurnContext>[0],
  context: ResponsesContext,
) {
  const { unsupported, settings } = context;
  return { ...toTurnContext(read, context), unsupported, maxTools: settings.maxTools };
}

/** The reply options that depend on the request's fields alone. */
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
