/** `POST /v1/messages` and `/v1/messages/count_tokens`: connects requests, turns and replies. */
import { type Context, Hono } from "hono";
import type { Model, Models } from "../../models/models.ts";
import type { ReasoningOutcome, ReasoningStore } from "../../store/reasoning-store.ts";
import { consume, createPushStream, type PushStream } from "../../streams/push-stream.ts";
import { collectTurn } from "../../turn/collect.ts";
import type { Pause } from "../../streams/slices.ts";
import type { Turn, TurnEvent } from "../../turn/turn.ts";
import { createAbort } from "../abort.ts";
import { type ReadBody, readBody } from "../request/body-memory.ts";
import type { ResponseHeaders } from "../../telemetry/response-headers.ts";
import type { ApiEnv } from "../request/client.ts";
import { describeError, describeTurnFailure, RequestError } from "../errors.ts";
import type { HostedDeps } from "../tools/hosted-tools.ts";
import type { CountedLists, RequestLimits } from "../request/limits.ts";
import type { MediaRules } from "../request/media.ts";
import { readRequest } from "../request/parse-request.ts";
import { usedEffort } from "../request/reasoning-options.ts";
import { namedModel, requestedModel } from "../request/requested-model.ts";
import { skippedPlugins } from "../tools/skipped-tools.ts";
import { type FrameHints, sseResponse } from "../reply/event-stream.ts";
import { createStages, type Stages } from "../request/stages.ts";
import { untilBegun } from "../reply/wait-for-first-event.ts";
import { toMessagesErrorReply } from "./errors.ts";
import { type FindModel, unknownModel } from "./find-model.ts";
import { toHistory } from "./history.ts";
import type { ReplyOptions } from "./reply.ts";
import {
  type CountRequest,
  countRequest,
  type MessagesRequest,
  messagesRequest,
} from "./request.ts";
import { restoreThinking } from "./restore-thinking.ts";
import {
  summaryFailure,
  toSummaryEntries,
  toSummaryFrames,
  toSummaryMessage,
  toSummaryRequest,
} from "./summary.ts";
import { requestedReasoning, toShownThinking } from "./thinking.ts";
import { createEventWriter, errorFrame, PING } from "./to-events.ts";
import { toMessage } from "./to-message.ts";
import { withoutParts } from "./warm-up.ts";
import { toOfferedFunctions, type ServerTools } from "./tools.ts";
import { toTurnInSteps, type TurnContext } from "./to-turn.ts";

export interface MessagesDeps {
  readonly models: Models;
  readonly findModel: FindModel;
  readonly reasoning: ReasoningStore;
  /** The system message's options from the settings, for the date of the request. */
  readonly system: (now: number) => TurnContext["system"];
  readonly limits: RequestLimits & CountedLists;
  readonly serverTools: ServerTools;
  /** Tools that the gateway runs. */
  readonly hosted: HostedDeps;
  /** How long an unused interpreter is kept. */
  readonly containerIdleMs: number;
  readonly media: MediaRules;
  readonly keepAliveMs: number;
  /** Yields between stages of large requests. */
  readonly pause: Pause;
  /** How long a client may leave sent data unread. */
  readonly clientIdleTimeoutMs: number;
  readonly now: () => number;
  /** Letters and digits, unguessable. */
  readonly randomId: () => string;
  /** Called with the kinds of tools and blocks that were skipped. */
  readonly onSkipped: (requestId: string, kinds: readonly string[]) => void;
  /** Called with where the reasoning of a step was found, unless `reasoning` has reported it. */
  readonly onRestored: (outcome: ReasoningOutcome) => void;
}

export function messages(deps: MessagesDeps): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();

  app.post("/messages", async (c) => {
    const sent = await readBody(c, deps.limits.messageLists);
    const stages = createStages(sent.length, deps.pause);
    const request = await readRequest(sent.value, messagesRequest, deps.limits, stages);
    const isSummary = request.compaction != null;
    const sentParts = { body: sent, stages, isSummary };
    const { model, name, turn, headers } = await prepare(c, request, sentParts, deps);
    const client = c.get("client");
    const options: ReplyOptions = {
      id: `msg_${deps.randomId()}`,
      model: name,
      requestId: c.get("requestId"),
      thinking: toShownThinking(request, client.reasoningPolicy),
      containerExpiresAt: new Date(deps.now() + deps.containerIdleMs).toISOString(),
    };
    const abort = createAbort(c.req.raw.signal);
    const { signal } = abort;
    const run = model.run(turn, signal);
    const events = deps.reasoning.keep(request.max_tokens === 0 ? withoutParts(run) : run, {
      tenant: client.tenant,
      // Calls of the gateway are sent encrypted even if thinking is hidden from the client.
      seal: options.thinking !== "none" || turn.builtins !== undefined,
    });
    if (!request.stream) {
      const finished = await collectTurn(events);
      const failure = isSummary ? summaryFailure(finished) : finished.end.failure;
      if (failure) {
        const { body } = toMessagesErrorReply(describeTurnFailure(failure), options.requestId);
        return c.json(body, 502, headers);
      }
      const message = isSummary
        ? toSummaryMessage(finished, options)
        : toMessage(finished, options);
      return c.body(message, 200, {
        ...headers,
        "content-type": "application/json",
      });
    }
    // Until the engine has accepted the request, its error can still be an HTTP status.
    const begun = await untilBegun(events, { patienceMs: deps.keepAliveMs, signal });
    const hints: FrameHints = { isLast: false };
    const frames = isSummary ? toSummaryFrames(begun, options) : toFrames(begun, options, hints);
    return sseResponse(c, frames, {
      hints,
      keepAlive: PING,
      keepAliveMs: deps.keepAliveMs,
      clientIdleTimeoutMs: deps.clientIdleTimeoutMs,
      headers,
      onCancel: (reason) => abort.abort(reason),
    });
  });

  app.post("/messages/count_tokens", async (c) => {
    const body = await readBody(c, deps.limits.messageLists);
    const stages = createStages(body.length, deps.pause);
    const request = await readRequest(body.value, countRequest, deps.limits, stages);
    const sentParts = { body, stages, isSummary: false };
    const { model, turn, headers } = await prepare(c, request, sentParts, deps);
    const tokens = await model.countTurnTokens(turn, c.req.raw.signal);
    return c.json({ input_tokens: tokens }, 200, headers);
  });

  return app;
}

interface PreparedTurn {
  readonly model: Model;
  /** As the client named it. */
  readonly name: string;
  readonly turn: Turn;
  readonly headers: ResponseHeaders;
}

interface SentParts {
  readonly body: ReadBody;
  readonly stages: Stages;
  /** The turn writes a summary of the conversation. */
  readonly isSummary: boolean;
}

/** Everything before the engine call. Rejects with a {@link RequestError}. */
async function prepare(
  c: Context<ApiEnv>,
  sent: CountRequest & Partial<MessagesRequest>,
  { body, stages, isSummary }: SentParts,
  deps: MessagesDeps,
): Promise<PreparedTurn> {
  const request = isSummary ? toSummaryRequest(sent) : sent;
  refuseThread(request);
  const found = requestedModel(request, deps.models, deps.findModel);
  if (found === undefined) throw unknownModel(namedModel(request), deps.models);
  const { model, name } = found;
  const namedEffort = isSummary ? undefined : found.effort;
  const { tenant } = c.get("client");
  const requestId = c.get("requestId");
  const history = toHistory(request.messages, { bodyText: body.text, media: deps.media });
  const { serverTools, hosted } = deps;
  const { references } = history;
  const bodyText = body.outline;
  await stages.next();
  const offered = toOfferedFunctions(request, {
    bodyText,
    tenant,
    serverTools,
    references,
    hosted,
  });
  const entries = isSummary ? toSummaryEntries(history.entries, request) : history.entries;
  const restored = await restoreThinking(entries, tenant, deps);
  const steps = toTurnInSteps(request, {
    turnId: requestId,
    tenant,
    system: deps.system(deps.now()),
    bodyText,
    namedEffort,
    history: restored.entries,
    offered,
    hosted,
    affinity: c.req.header("x-claude-code-session-id")?.slice(0, MAX_SESSION_ID),
  });
  const turn = await stages.run(steps);
  const plugins = skippedPlugins(request.plugins, found.suffixes, turn);
  const skipped = toSkippedKinds([...offered.skipped, ...plugins, ...history.skipped]);
  if (skipped.length > 0) deps.onSkipped(requestId, skipped);
  return {
    model,
    name,
    turn,
    headers: {
      "request-id": requestId,
      "x-harmony-reasoning-effort": usedEffort(requestedReasoning(request, namedEffort)),
      ...(restored.outcome && { "x-harmony-cot": restored.outcome }),
      ...(skipped.length > 0 && { "x-harmony-skipped": skipped.join(", ") }),
    },
  };
}

const MAX_SESSION_ID = 256;

/**
 * After the error, the SDK sends the whole conversation with every request. Ignoring the thread would
 * silently lose tools and history, because only new messages are sent.
 */
function refuseThread({ thread }: CountRequest): void {
  if (thread === undefined || thread === null) return;
  throw new RequestError(
    "thread: conversations are not stored by this gateway; send the whole conversation without thread",
    {
      param: "thread",
      details: { error_code: "thread_unsupported_request", unsupported: [] },
    },
  );
}

/** Kinds are text from the client, so only plausible names are logged. */
function toSkippedKinds(kinds: readonly string[]): readonly string[] {
  const shown = kinds.map((kind) => (/^[!-+\--~]{1,64}$/.test(kind) ? kind : "other"));
  return [...new Set(shown)].toSorted().slice(0, MAX_SKIPPED_KINDS);
}

const MAX_SKIPPED_KINDS = 20;

/** Never fails: a failure is the last frame. */
function toFrames(
  events: AsyncIterable<TurnEvent>,
  options: ReplyOptions,
  hints: FrameHints,
): PushStream<string> {
  return createPushStream(async (consumer) => {
    const writer = createEventWriter(options);
    try {
      await consume(events, (event) => {
        hints.isLast = event.type === "end";
        const frames = writer.push(event);
        return frames === "" || consumer(frames);
      });
    } catch (error) {
      if (!hints.isLast) await consumer(errorFrame(describeError(error), options));
    }
  });
}
