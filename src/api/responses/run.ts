/** Runs a prepared response, and stores it. */
import { consume, createPushStream, type PushStream } from "../../streams/push-stream.ts";
import type { Turn, TurnEvent } from "../../turn/turn.ts";
import { toKeptPrompt } from "../turn/cache-diagnosis.ts";
import { summarySettings, wantedSummary, withSummaries } from "../reply/reasoning-summary.ts";
import { type CompactionEvent, runCompaction, withCompactionItem } from "./compaction.ts";
import type { ResponsesContext } from "./context.ts";
import type { PreparedResponse } from "./prepare.ts";
import type { ResponseResource } from "./to-response.ts";
import type { Model } from "../../models/models.ts";

export type ResponseTurnEvent = TurnEvent | CompactionEvent;

/** The events of a compaction, if any, and of the turn. Reasoning is stored for later requests. */
export function runResponse(
  { request, purpose, requested, turn, compaction, caller, seal }: PreparedResponse,
  deps: ResponsesContext,
  signal: AbortSignal,
): AsyncIterable<ResponseTurnEvent> {
  const { model } = requested;
  const { tenant, reasoningPolicy } = caller.client;
  if (purpose === "prewarm") return prewarm(model, turn, signal);
  if (purpose === "compaction") {
    return runCompaction(model.run(turn, signal), tenant, deps.cipher);
  }
  const run = (each: Turn) => {
    const kept = deps.reasoning.keep(model.run(each, signal), { tenant, seal });
    const asked = request.reasoning?.summary ?? request.reasoning?.generate_summary;
    const summary = wantedSummary(asked, reasoningPolicy, summarySettings(deps.settings));
    if (summary === undefined) return kept;
    const { pause } = deps;
    const system = deps.system(deps.now());
    return withSummaries(kept, { ...summary, model, turn: each, system, signal, pause });
  };
  if (compaction === undefined) return run(turn);
  return withCompactionItem(compaction, compaction.run(model, run, signal), tenant, deps.cipher);
}

/** The complete response. Rejects with the turn's error, or when the response cannot be stored. */
export async function collectResponse(
  prepared: PreparedResponse,
  events: AsyncIterable<ResponseTurnEvent>,
  deps: ResponsesContext,
): Promise<ResponseResource> {
  const { builder } = prepared;
  await consume(events, (event) => {
    builder.push(event);
    return true;
  });
  try {
    await keepResponse(prepared, deps);
  } catch (error) {
    // A failure is reported even if it could not be stored. Success is not, because it promises a stored response.
    if (builder.response().status !== "failed") throw error;
  }
  return builder.response();
}

/**
 * Writes the current response to the store. Once it has ended, its conversation is extended first, so that a client
 * that reads the end can continue the conversation.
 *
 * @param events the number of the response's stored events, if events are stored.
 */
export async function keepResponse(
  prepared: PreparedResponse,
  deps: ResponsesContext,
  events?: number,
): Promise<void> {
  const { request, turn, context, caller, builder } = prepared;
  const { tenant } = caller.client;
  const isPrivate = caller.client.isPrivate || context.isPrivate;
  const response = builder.response();
  const output = builder.output.map((item) => ({ ...item }));
  const hasEnded = response.status === "completed" || response.status === "incomplete";
  if (context.conversation !== undefined && hasEnded) {
    const added = [...context.input, ...output];
    await deps.conversations.update(tenant, context.conversation, (conversation) => {
      const { items } = conversation;
      // A background response writes its end again if the store failed in between.
      const isThere = items.some(({ id }) => id === added.at(-1)?.id);
      if (isThere) return conversation;
      return {
        ...conversation,
        items: [...items, ...added],
        isPrivate: isPrivate || conversation.isPrivate,
      };
    });
  }
  await caller.responses.put(
    tenant,
    {
      response: { ...response, output },
      input: context.input,
      ancestors: context.ancestors,
      storedAt: deps.now(),
      ...(isPrivate && { isPrivate }),
      ...(hasEnded && { prompt: toKeptPrompt(prepared) }),
      events,
    },
    {
      store: request.store ?? true,
      earlier: context.earlier,
      hasLogprobs: turn.topLogprobs !== undefined,
    },
  );
}

/** The events of a turn without parts. Rendering the prompt leaves its tokens in the caches of the gateway. */
function prewarm(model: Model, turn: Turn, signal: AbortSignal): PushStream<TurnEvent> {
  return createPushStream(async (consumer) => {
    const promptTokens = await model.countTurnTokens(turn, signal);
    const usage = { promptTokens, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 };
    await consumer({ type: "start", promptTokens });
    await consumer({
      type: "end",
      finish: "stop",
      nativeReason: null,
      usage: { ...usage, engineCalls: 0 },
      recoveries: new Map(),
    });
  });
}
