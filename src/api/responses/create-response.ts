/**
 * Making a response: a request is checked, its conversation assembled and its turn run, and what comes of it kept.
 * Every way of asking (a POST, streamed or not, in the background, over a WebSocket) goes through here.
 */
import type { Message } from "../../harmony/conversation.ts";
import { userMessage } from "../../harmony/messages.ts";
import {
  createPushStream,
  type PushStream,
  consume,
  deliverAll,
} from "../../streams/push-stream.ts";
import { StoreError } from "../../store/store-error.ts";
import type { Model, Models } from "../../models/models.ts";
import { TurnError } from "../../turn/turn-error.ts";
import type { Turn } from "../../turn/turn.ts";
import { describeError, RequestError } from "../errors.ts";
import { checkLimits } from "../limits.ts";
import { parseBody, parseWith } from "../parse-request.ts";
import type { Caller, ResponsesContext } from "./context.ts";
import { conversationTooLarge } from "./conversations.ts";
import type { HistoryItem } from "./history.ts";
import { loadContext, type RequestContext } from "./load-context.ts";
import { type ResponsesRequest, responsesRequest } from "./request.ts";
import { responseTooLarge, toItemId } from "./response-store.ts";
import { createEventWriter, type EventWriter, type ResponseEvent } from "./to-events.ts";
import { createResponseWriter } from "./to-response.ts";
import { skippedTools, toHistory, toTurn, type TurnContext } from "./to-turn.ts";
import { type TokenCounts, truncateHistory } from "./truncate.ts";

/** A request that is ready to run. */
export interface PendingResponse {
  readonly id: string;
  readonly request: ResponsesRequest;
  readonly model: Model;
  readonly turn: Turn;
  readonly context: RequestContext;
  readonly caller: Caller;
  /** Clients that carry reasoning sealed get it so. */
  readonly seal: boolean;
  readonly writer: EventWriter;
}

/** A model name with this suffix asks for the events of the Open Responses schema. */
const OPEN_RESPONSES_SUFFIX = ":open-responses";

/** Everything up to the engine. Throws a {@link RequestError}. */
export async function prepareResponse(
  bodyText: string,
  caller: Caller,
  deps: ResponsesContext,
): Promise<PendingResponse> {
  const body = parseBody(bodyText);
  checkLimits(body, deps.limits);
  const request = parseWith(responsesRequest, body);
  refuseUnsupported(request);
  const model = requireModel(deps.models, request.model);
  const now = deps.now();
  const id = `resp_${deps.randomId()}`;
  if (promisesToKeep(request)) await deps.store.check();
  const context = await loadContext(request, id, caller, deps);
  refuseUnkeepable(request, model, context, bodyText.length, deps.store.maxEntryBytes);
  const turn = await toFittingTurn(request, model, {
    turnId: caller.requestId,
    tenant: caller.client.tenant,
    system: deps.system(now),
    bodyText,
    history: context.history,
    unsupported: deps.unsupported,
  });
  const skipped = skippedTools(request);
  if (skipped.length > 0) deps.onSkippedTools(caller.requestId, skipped);

  const policy = caller.client.reasoningPolicy;
  const asked = request.include?.includes("reasoning.encrypted_content") ?? false;
  const writer = createEventWriter({
    toResponse: createResponseWriter(request, {
      id,
      createdAt: toSeconds(now),
      ...(context.conversation !== undefined && { conversation: context.conversation }),
    }),
    toItemId: (prefix, index) => toItemId(id, prefix, index),
    now: () => toSeconds(deps.now()),
    reasoningEvents: request.model.endsWith(OPEN_RESPONSES_SUFFIX)
      ? "reasoning"
      : deps.reasoningEvents(caller.client.tenant),
    showReasoning: policy === "raw",
    queued: request.background ?? false,
  });
  const seal = policy === "sealed" || (policy === "raw" && asked);
  return { id, request, model, turn, context, caller, seal, writer };
}

/**
 * Runs it. What the turn throws is thrown. The response is kept before its last event is given, so that
 * a client that continues at once finds it.
 */
export function runResponse(
  pending: PendingResponse,
  deps: ResponsesContext,
  signal: AbortSignal,
  keep: () => Promise<void> = () => keepResponse(pending, deps),
): PushStream<ResponseEvent> {
  const { writer, turn, model, caller, seal } = pending;
  return createPushStream((take) => {
    const turnEvents = deps.reasoning.keep(model.run(turn, signal), {
      tenant: caller.client.tenant,
      seal,
    });
    return consume(turnEvents, (event) => {
      const events = writer.push(event);
      if (event.type !== "end") return deliverAll(events, take);
      return keep().then(
        () => deliverAll(events, take),
        async (error: unknown) => {
          // What has failed anyway is told as it is. What claims to be done and kept is not told.
          if (writer.response.status === "failed") return deliverAll(events, take);
          await deliverAll(events.slice(0, -1), take);
          throw error;
        },
      );
    });
  });
}

/** The same events, with a failure as the last of them. Where the client has left, there is nobody to tell. */
export function withFailure(
  events: AsyncIterable<ResponseEvent>,
  pending: PendingResponse,
  deps: ResponsesContext,
  signal: AbortSignal,
): PushStream<ResponseEvent> {
  return createPushStream(async (take) => {
    try {
      await consume(events, take);
    } catch (error) {
      if (signal.aborted) return;
      const failure = pending.writer.fail(describeError(error));
      // The client is told of the failure, whether or not it can be kept.
      await keepResponse(pending, deps).catch(ignoreStoreFailure);
      await deliverAll(failure, take);
    }
  });
}

/** Writes the response as it stands to the store, and into its conversation once it has ended. */
export async function keepResponse(
  pending: PendingResponse,
  deps: ResponsesContext,
): Promise<void> {
  const { request, context, caller, writer } = pending;
  const { tenant } = caller.client;
  const { response } = writer;
  const output = writer.output.map((item) => ({ ...item }));
  await caller.responses.put(
    tenant,
    {
      response: { ...response, output },
      input: context.input,
      ancestors: context.ancestors,
      storedAt: deps.now().getTime(),
    },
    { store: request.store ?? true, earlier: context.earlier },
  );
  const hasEnded = response.status === "completed" || response.status === "incomplete";
  if (context.conversation === undefined || !hasEnded) return;
  await deps.conversations.update(tenant, context.conversation, (conversation) => ({
    ...conversation,
    items: [...conversation.items, ...context.input, ...output],
  }));
}

/** Throws anything but a failure to keep something, which the store has reported already. */
export function ignoreStoreFailure(error: unknown): void {
  if (!(error instanceof StoreError || error instanceof RequestError)) throw error;
}

export function requireModel(models: Models, name: string): Model {
  const model = models.find(name);
  if (model) return model;
  throw new RequestError(`The model ${JSON.stringify(name)} does not exist.`, {
    status: 404,
    type: "not_found_error",
    param: "model",
    errorType: "model_not_found",
  });
}

function refuseUnsupported(request: ResponsesRequest): void {
  if (request.prompt !== undefined && request.prompt !== null) {
    throw refusal("prompt", "there are no stored prompts here");
  }
  if (request.reasoning?.context === "all_turns") {
    throw refusal("reasoning.context", "the model reads the reasoning of the current turn only");
  }
  if (request.background && request.store === false) {
    throw refusal("background", "a response made in the background must be stored");
  }
}

function promisesToKeep({ store, conversation }: ResponsesRequest): boolean {
  return (store ?? true) || Boolean(conversation);
}

/** Where a request sets no output limit, an answer of so many tokens must fit into the store beside its input. */
const USUAL_ANSWER_TOKENS = 8192;
const BYTES_PER_TOKEN = 6;
/** Of gpt-oss, where nobody has said it. */
const LONGEST_CONTEXT = 131_072;

/** What could not be kept is refused before it is generated. */
function refuseUnkeepable(
  request: ResponsesRequest,
  model: Model,
  context: RequestContext,
  bodySize: number,
  maxEntryBytes: number,
): void {
  const answerTokens = Math.min(
    request.max_output_tokens ?? USUAL_ANSWER_TOKENS,
    model.contextLength ?? LONGEST_CONTEXT,
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

/** With `truncation: "auto"`, shortened until prompt and answer fit. */
export async function toFittingTurn(
  request: ResponsesRequest,
  model: Model,
  context: TurnContext,
): Promise<Turn> {
  const { contextLength } = model;
  if (request.truncation !== "auto" || contextLength === undefined) return toTurn(request, context);
  const room = Math.min(request.max_output_tokens ?? DEFAULT_ROOM, Math.floor(contextLength / 4));
  const turnOf = (history: readonly HistoryItem[]) => toTurn(request, { ...context, history });
  const count = async (messages: readonly Message[]) => {
    try {
      return await model.countPromptTokens(messages, context.tenant);
    } catch (error) {
      // So long that nobody counted to the end.
      if (error instanceof TurnError && error.kind === "context-length") return Infinity;
      throw error;
    }
  };
  const counts: TokenCounts = {
    prompt: (history) => count(turnOf(history).messages),
    async items(items) {
      const { leading, history } = toHistory(items, context.unsupported);
      const instructions = leading.map((text) => userMessage(text));
      return (await count([...instructions, ...history])) - (await count([]));
    },
  };
  return turnOf(await truncateHistory(context.history, counts, contextLength - room));
}

function toSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}
