/**
 * Creates a response: validates the request, loads its conversation, runs its turn and stores the result. All ways to
 * create one (a POST, streamed or not, in the background, over a WebSocket) use this.
 */
import { GPT_OSS_CONTEXT } from "../../engines/context-length.ts";
import type { Message } from "../../harmony/conversation.ts";
import { userMessage } from "../../harmony/messages.ts";
import { consume } from "../../streams/push-stream.ts";
import type { Model, Models } from "../../models/models.ts";
import { TurnError } from "../../turn/turn-error.ts";
import type { Pause } from "../../streams/slices.ts";
import type { Turn, TurnEvent } from "../../turn/turn.ts";
import type { ReadBody } from "../request/body-memory.ts";
import { RequestError } from "../errors.ts";
import { isHosted } from "../tools/hosted-tools.ts";
import { listAvailable, UNKNOWN_MODEL_REASON } from "../request/unknown-model.ts";
import { readRequest } from "../request/parse-request.ts";
import { usedEffort } from "../request/reasoning-options.ts";
import { wantedSummary, withSummaries } from "../reply/reasoning-summary.ts";
import { namedModel, type RequestedModel, requestedModel } from "../request/requested-model.ts";
import { skippedPlugins } from "../tools/skipped-tools.ts";
import { createStages } from "../request/stages.ts";
import {
  asksForCompaction,
  type CompactionEvent,
  runCompaction,
  toCompactionHistory,
  toCompactionRequest,
  withoutTriggers,
} from "./compaction.ts";
import type { Caller, ResponsesContext } from "./context.ts";
import { conversationTooLarge } from "./conversations.ts";
import type { HistoryItem } from "./history-item.ts";
import { openResponseServers } from "./mcp-tools.ts";
import { loadContext, type RequestContext } from "./load-context.ts";
import { type Omissions, toOmissions } from "./omissions.ts";
import { type ResponsesRequest, responsesRequest } from "./request.ts";
import { prewarm } from "./prewarm.ts";
import { responseTooLarge, toItemId } from "./response-store.ts";
import { createResponseBuilder, type ResponseBuilder } from "./response-builder.ts";
import { createResponseWriter, type ResponseResource } from "./to-response.ts";
import { sinceSummary } from "./since-summary.ts";
import { toHistory } from "./to-messages.ts";
import { type PromptContext, requestedReasoning, turnMaker } from "./to-turn.ts";
import { type TokenCounts, truncateHistory } from "./truncate.ts";

/** A request that is ready to run. */
export interface PendingResponse {
  readonly id: string;
  readonly request: ResponsesRequest;
  readonly purpose: "answer" | "compaction" | "prewarm";
  readonly requested: RequestedModel;
  readonly turn: Turn;
  readonly context: RequestContext;
  readonly omissions: Omissions;
  readonly caller: Caller;
  /** Include encrypted reasoning for the client to send back. */
  readonly seal: boolean;
  readonly builder: ResponseBuilder;
}

/** Everything before the engine call. Throws a {@link RequestError}. */
export async function prepareResponse(
  body: ReadBody,
  caller: Caller,
  deps: ResponsesContext,
): Promise<PendingResponse> {
  const stages = createStages(body.length, deps.pause);
  const request = await readRequest(body.value, responsesRequest, deps.limits, stages);
  refuseUnsupported(request);
  const requested = requireModel(deps.models, request);
  const { model, effort: namedEffort } = requested;
  const now = deps.now();
  const id = `resp_${deps.randomId()}`;
  if (promisesToKeep(request)) await deps.store.check();
  const context = await loadContext(request, id, caller, deps);
  if (promisesToKeep(request)) {
    refuseUnkeepable(request, model, context, body.text().length, deps.store.maxEntryBytes);
  }
  await stages.next();
  const prompt = {
    tenant: caller.client.tenant,
    system: deps.system(now),
    bodyText: body.outline,
    unsupported: deps.unsupported,
    tools: deps.tools,
  };
  const isCompaction = asksForCompaction(request);
  const asked = isCompaction ? toCompactionRequest(request) : request;
  const history = isCompaction
    ? toCompactionHistory(context.history)
    : withoutTriggers(context.history);
  const { toolStates } = context;
  const servers = await openResponseServers(asked, history, prompt);
  const turnContext = {
    ...prompt,
    history,
    toolStates,
    servers,
    turnId: caller.requestId,
    // A summary takes little thought.
    namedEffort: isCompaction ? undefined : namedEffort,
  };
  const maker = await stages.run(turnMaker(asked, turnContext));
  const { turnOf, targets, skipped } = maker;
  const turn = await toFittingTurn(asked, model, { turnOf, prompt, history }, deps.pause);
  await stages.next();
  const plugins = skippedPlugins(asked.plugins, requested.suffixes, turn);
  const omissions = toOmissions([...skipped, ...plugins], history, turn, model.capabilities);
  deps.onOmissions(caller.requestId, omissions);

  const policy = caller.client.reasoningPolicy;
  const wantsSealed = request.include?.includes("reasoning.encrypted_content") ?? false;
  const builder = createResponseBuilder({
    toResponse: createResponseWriter(
      request,
      {
        id,
        createdAt: toSeconds(now),
        model: requested.name,
        effort: usedEffort(requestedReasoning(request, namedEffort)),
        parallelToolCalls: turn.parallelToolCalls,
        ...(context.conversation !== undefined && { conversation: context.conversation }),
      },
      (kind) => isHosted(kind, deps.tools.hosted),
    ),
    toItemId: (prefix, index) => toItemId(id, prefix, index),
    targets,
    listings: servers.listings,
    now: () => toSeconds(deps.now()),
    showReasoning: policy === "raw",
    includes: {
      sources: request.include?.includes("web_search_call.action.sources") ?? false,
      results: request.include?.includes("web_search_call.results") ?? false,
      outputs: request.include?.includes("code_interpreter_call.outputs") ?? false,
    },
    queued: request.background ?? false,
    isCodex: caller.isCodex,
    // Nothing but the context can cut the answer then.
    isUnlimited: request.max_output_tokens == null && model.contextLength !== undefined,
  });
  const purpose = isCompaction ? "compaction" : request.generate === false ? "prewarm" : "answer";
  const seal = policy === "sealed" || ((policy === "raw" || policy === "summary") && wantsSealed);
  return { id, request, purpose, requested, turn, context, omissions, caller, seal, builder };
}

/** The events of its turn. Its reasoning is stored for later requests. */
export function runPending(
  { request, purpose, requested, turn, caller, seal }: PendingResponse,
  deps: ResponsesContext,
  signal: AbortSignal,
): AsyncIterable<TurnEvent | CompactionEvent> {
  const { model } = requested;
  const { tenant } = caller.client;
  if (purpose === "prewarm") return prewarm(model, turn, signal);
  if (purpose === "compaction") {
    return runCompaction(model.run(turn, signal), tenant, deps.cipher);
  }
  const kept = deps.reasoning.keep(model.run(turn, signal), { tenant, seal });
  const { reasoning } = request;
  const asked = reasoning?.summary ?? reasoning?.generate_summary;
  const wanted = wantedSummary(asked, caller.client.reasoningPolicy, deps.summaries);
  if (wanted === undefined) return kept;
  const { pause } = deps;
  const system = deps.system(deps.now());
  return withSummaries(kept, { ...wanted, model, turn, signal, system, pause });
}

/** Runs it without events. Rejects with the turn's error, or when the response cannot be stored. */
export async function collectResponse(
  pending: PendingResponse,
  deps: ResponsesContext,
  signal: AbortSignal,
): Promise<ResponseResource> {
  const { builder } = pending;
  await consume(runPending(pending, deps, signal), (event) => {
    builder.push(event);
    return true;
  });
  try {
    await keepResponse(pending, deps);
  } catch (error) {
    // A failure is reported whether or not it could be stored. Success is not: it would promise a stored response.
    if (builder.response().status !== "failed") throw error;
  }
  return builder.response();
}

/**
 * Writes the response as it stands to the store. Once it has ended, its conversation is extended first, so that whoever
 * reads the end can continue the conversation.
 *
 * @param events how many of its events have been stored, if they are.
 */
export async function keepResponse(
  pending: PendingResponse,
  deps: ResponsesContext,
  events?: number,
): Promise<void> {
  const { request, context, caller, builder } = pending;
  const { tenant } = caller.client;
  const response = builder.response();
  const output = builder.output.map((item) => ({ ...item }));
  const hasEnded = response.status === "completed" || response.status === "incomplete";
  if (context.conversation !== undefined && hasEnded) {
    const added = [...context.input, ...output];
    await deps.conversations.update(tenant, context.conversation, (conversation) => {
      const { items } = conversation;
      // A background response writes its end again if the store did not take all of it.
      const isThere = items.some(({ id }) => id === added.at(-1)?.id);
      return isThere ? conversation : { ...conversation, items: [...items, ...added] };
    });
  }
  await caller.responses.put(
    tenant,
    {
      response: { ...response, output },
      input: context.input,
      ancestors: context.ancestors,
      storedAt: deps.now(),
      events,
    },
    { store: request.store ?? true, earlier: context.earlier },
  );
}

export function requireModel(
  models: Models,
  request: Pick<ResponsesRequest, "model" | "models">,
): RequestedModel {
  const found = requestedModel(request, models);
  if (found) return found;
  const sentence = `The model ${JSON.stringify(namedModel(request))} does not exist.`;
  throw new RequestError(sentence + listAvailable(models), {
    reason: UNKNOWN_MODEL_REASON,
    status: 404,
    type: "not_found_error",
    param: "model",
    errorType: "model_not_found",
  });
}

function refuseUnsupported(request: ResponsesRequest): void {
  if (request.prompt !== undefined && request.prompt !== null) {
    throw refusal("prompt", "stored prompts are not supported");
  }
  if (request.background && request.store === false) {
    throw refusal("background", "background responses must be stored");
  }
}

function promisesToKeep({ store, conversation }: ResponsesRequest): boolean {
  return (store ?? true) || Boolean(conversation);
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
  if ((request.store ?? true) && size > maxEntryBytes) throw responseTooLarge();
  if (context.conversation !== undefined && context.earlierSize + size > maxEntryBytes) {
    throw conversationTooLarge();
  }
}

function refusal(param: string, problem: string): RequestError {
  return new RequestError(`${param}: ${problem}`, { param });
}

/** Tokens kept free for the answer when a history is truncated and the request sets no limit. */
const DEFAULT_ROOM = 4096;

export interface FittingOptions {
  readonly turnOf: (history: readonly HistoryItem[]) => Turn;
  readonly history: readonly HistoryItem[];
  readonly prompt: PromptContext;
}

/**
 * With `truncation: "auto"`, shortens the history until prompt and answer fit.
 *
 * @param pause called between slices of long work.
 */
export async function toFittingTurn(
  request: ResponsesRequest,
  model: Model,
  { turnOf, history, prompt }: FittingOptions,
  pause: Pause,
): Promise<Turn> {
  const { contextLength } = model;
  if (request.truncation !== "auto" || contextLength === undefined) return turnOf(history);
  const room = Math.min(request.max_output_tokens ?? DEFAULT_ROOM, Math.floor(contextLength / 4));
  const count = async (messages: readonly Message[]) => {
    try {
      return await model.countPromptTokens(messages, prompt.tenant);
    } catch (error) {
      // Counting stopped early: far over the context length.
      if (error instanceof TurnError && error.kind === "context-length") return Infinity;
      throw error;
    }
  };
  const alone = await count([]);
  const counts: TokenCounts = {
    prompt: (items) => count(turnOf(items).messages),
    async items(items) {
      const { unsupported, tools } = prompt;
      const { leading, history: read } = toHistory(items, { unsupported, style: tools.style });
      const instructions = leading.map((text) => userMessage(text));
      return (await count([...instructions, ...read.messages])) - alone;
    },
  };
  const whole = sinceSummary(history);
  return turnOf(await truncateHistory(whole, counts, contextLength - room, pause));
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
