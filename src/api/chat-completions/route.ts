/** `POST /v1/chat/completions`: connects requests, turns and replies. */
import { Hono } from "hono";
import type { NamespaceStyle } from "../../harmony/tool-names.ts";
import { createPushStream, type PushStream } from "../../streams/push-stream.ts";
import { type ReasoningStore, worstOutcome } from "../../store/reasoning-store.ts";
import { collectTurn } from "../../turn/collect.ts";
import { mergeTurns } from "../../turn/merge.ts";
import type { Models } from "../../models/models.ts";
import type { ResponseHeaders } from "../../telemetry/response-headers.ts";
import type { Pause } from "../../streams/slices.ts";
import type { Turn, TurnEvent, TurnUsage } from "../../turn/turn.ts";
import { createAbort } from "../abort.ts";
import { readBody } from "../request/body-memory.ts";
import type { ApiEnv, ReasoningPolicy } from "../request/client.ts";
import { errorCodesAt } from "../error-codes.ts";
import { describeError, type ErrorDescription, RequestError } from "../errors.ts";
import type { MediaRules } from "../request/media.ts";
import { listAvailable, UNKNOWN_MODEL_REASON } from "../request/unknown-model.ts";
import type { HostedDeps } from "../tools/hosted-tools.ts";
import type { CountedLists, RequestLimits } from "../request/limits.ts";
import { readRequest } from "../request/parse-request.ts";
import { usedEffort } from "../request/reasoning-options.ts";
import { wantedSummary, withSummaries } from "../reply/reasoning-summary.ts";
import { namedModel, type RequestedModel, requestedModel } from "../request/requested-model.ts";
import { skippedPlugins, toNameList } from "../tools/skipped-tools.ts";
import { type FrameHints, sseFrame, sseResponse } from "../reply/event-stream.ts";
import { createStages } from "../request/stages.ts";
import { untilAnyBegun } from "../reply/wait-for-first-event.ts";
import { CODE_TOOL } from "../tools/client-builtins.ts";
import { toErrorBody } from "./errors.ts";
import { openChatServers } from "./mcp-tools.ts";
import { runningSteps, trainedCallIds } from "./reasoning-in.ts";
import { addUsage, customToolNames, type ReplyOptions, type ShownReasoning } from "./reply.ts";
import { type ChatRequest, chatRequest } from "./request.ts";
import { createChunkWriter, usageChunk } from "./to-chunks.ts";
import { toCompletion } from "./to-completion.ts";
import { chatReasoning, toTurnInSteps, type TurnContext } from "./to-turn.ts";

export interface ChatCompletionsDeps {
  readonly models: Models;
  readonly reasoning: ReasoningStore;
  /** The system message's options from the settings, for the date of the request. */
  readonly system: (now: number) => TurnContext["system"];
  readonly media: MediaRules;
  readonly hosted: HostedDeps;
  /** The style in which the model is shown the tools of MCP servers. */
  readonly toolNamespaces: NamespaceStyle;
  readonly limits: RequestLimits & CountedLists;
  /** Whether a tenant gets its reasoning repeated as `reasoning_content`. */
  readonly mirrorReasoning: (tenant: string) => boolean;
  /** Absent: no summaries are made. */
  readonly summaries: { readonly waitMs: number } | undefined;
  /** Called with the names of tools that the request asks for and does not get. */
  readonly onSkipped: (id: string, names: readonly string[]) => void;
  /** Yields between stages of large requests. */
  readonly pause: Pause;
  readonly keepAliveMs: number;
  /** How long a client may leave sent data unread. */
  readonly clientIdleTimeoutMs: number;
  readonly now: () => number;
  /** Letters and digits, unguessable. */
  readonly randomId: () => string;
}

export function chatCompletions(deps: ChatCompletionsDeps): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();
  app.post("/chat/completions", async (c) => {
    const client = c.get("client");
    const body = await readBody(c, deps.limits.messageLists);
    const stages = createStages(body.length, deps.pause);
    const request = await readRequest(body.value, chatRequest, deps.limits, stages);
    const { model, name, effort: namedEffort, suffixes } = requireModel(deps.models, request);
    const now = deps.now();
    const reasoning = chatReasoning(request, namedEffort);
    const { exclude } = reasoning;
    const loop = runningSteps(request.messages);
    const restored = await deps.reasoning.restore(client.tenant, [...loop.values()]);
    const outcome = worstOutcome(restored);
    const callHeaders = await deps.reasoning.headersOf(client.tenant, trainedCallIds(request));
    const servers = await openChatServers(request, {
      tenant: client.tenant,
      hosted: deps.hosted,
      style: deps.toolNamespaces,
    });
    const steps = toTurnInSteps(request, {
      turnId: c.get("requestId"),
      tenant: client.tenant,
      system: deps.system(now),
      bodyText: body.outline,
      media: deps.media,
      namedEffort,
      hosted: deps.hosted,
      ...(servers && { servers }),
      restored: new Map([...loop.keys()].map((key, at) => [key, restored[at]?.reasoning ?? []])),
      callHeaders,
      sessionId: c.req.header("x-session-id")?.slice(0, MAX_SESSION_ID),
    });
    const turn = await stages.run(steps);
    const skipped = skippedPlugins(
      [...(request.plugins ?? []), ...(request.web_search_options ? [{ id: "web" }] : [])],
      suffixes,
      turn,
    );
    if (skipped.length > 0) deps.onSkipped(c.get("requestId"), skipped);
    const wanted = exclude
      ? undefined
      : wantedSummary(request.reasoning?.summary, client.reasoningPolicy, deps.summaries);
    const options: ReplyOptions = {
      id: `gen-${Math.floor(now / 1000)}-${deps.randomId()}`,
      created: Math.floor(now / 1000),
      model: name,
      provider: model.provider,
      reasoning: exclude ? "hidden" : SHOWN[client.reasoningPolicy],
      mirrorReasoning: deps.mirrorReasoning(client.tenant),
      legacyFunctions: !request.tools && Boolean(request.functions),
      customTools: customToolNames(request),
      codeTool: request.builtin_tools?.includes(CODE_TOOL) ? CODE_TOOL : undefined,
      usageWithoutChoices: request.stream_options?.include_usage ?? false,
      logprobs: request.logprobs ?? false,
      errorCodes: errorCodesAt(c.req.path),
    };

    const abort = createAbort(c.req.raw.signal);
    const turns = Array.from({ length: request.n ?? 1 }, (_, index) => {
      const kept = deps.reasoning.keep(model.run(withSeed(turn, index), abort.signal), {
        tenant: client.tenant,
        seal: options.reasoning === "sealed",
        carry: options.reasoning !== "hidden",
      });
      if (wanted === undefined) return kept;
      const system = deps.system(now);
      const { pause } = deps;
      return withSummaries(kept, { ...wanted, model, turn, system, signal: abort.signal, pause });
    });
    const headers: ResponseHeaders = {
      "x-generation-id": options.id,
      ...(outcome && { "x-harmony-cot": outcome }),
      "x-harmony-reasoning-effort": usedEffort(reasoning),
      ...(skipped.length > 0 && { "x-harmony-skipped-tools": toNameList(skipped) }),
    };
    try {
      if (!request.stream) {
        const finished = await Promise.all(turns.map((each) => collectTurn(each)));
        return c.json(toCompletion(finished, options), 200, headers);
      }
      const begun = await untilAnyBegun(turns, {
        patienceMs: deps.keepAliveMs,
        signal: abort.signal,
      });
      const hints: FrameHints = { isLast: false };
      return sseResponse(c, toFrames(begun, options, abort, hints), {
        hints,
        keepAliveMs: deps.keepAliveMs,
        clientIdleTimeoutMs: deps.clientIdleTimeoutMs,
        headers,
        onCancel: (reason) => abort.abort(reason),
      });
    } catch (error) {
      // One of several turns has failed: stop the others.
      abort.abort(error);
      throw error;
    }
  });
  return app;
}

const SHOWN: Record<ReasoningPolicy, ShownReasoning> = {
  raw: "text",
  sealed: "sealed",
  summary: "summary",
  none: "hidden",
};

/** The limit of the field with the same name. */
const MAX_SESSION_ID = 256;

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

/** A seed per choice: with one seed for all, the choices would be identical. */
function withSeed(turn: Turn, index: number): Turn {
  const { seed } = turn.sampling;
  if (seed === undefined || index === 0) return turn;
  return { ...turn, sampling: { ...turn.sampling, seed: seed + index } };
}

/** All chunks of all choices as server-sent events. Never fails: a failure is the last chunk. */
function toFrames(
  turns: readonly AsyncIterable<TurnEvent>[],
  options: ReplyOptions,
  abort: AbortController,
  hints: FrameHints,
): PushStream<string> {
  return createPushStream(async (consumer) => {
    const writers = turns.map((_, index) => createChunkWriter(options, index));
    const ended = new Map<number, TurnUsage>();
    try {
      await mergeTurns(turns, (event, index) => {
        let frames = writers[index]?.push(event) ?? "";
        if (event.type === "end") {
          ended.set(index, event.usage);
          hints.isLast = ended.size === turns.length;
          if (hints.isLast) frames += endFrames([...ended.values()], options);
        }
        return frames === "" || consumer(frames);
      });
    } catch (error) {
      // Stops the other choices, which may still be queued or running.
      abort.abort(error);
      if (hints.isLast) return;
      const description = describeError(error);
      let frames = "";
      for (const [index, writer] of writers.entries()) {
        if (!ended.has(index)) frames += writer.fail(description);
      }
      await consumer(frames + plainErrorFrame(description, options));
    }
  });
}

/** The AI SDK's OpenAI provider reads errors only from events that are not chunks; OpenRouter's SDK refuses such events. */
function plainErrorFrame(error: ErrorDescription, { errorCodes }: ReplyOptions): string {
  return errorCodes === "integers" ? "" : sseFrame(JSON.stringify(toErrorBody(error, errorCodes)));
}

function endFrames(usages: readonly TurnUsage[], options: ReplyOptions): string {
  return sseFrame(usageChunk(addUsage(usages), options)) + sseFrame("[DONE]");
}
