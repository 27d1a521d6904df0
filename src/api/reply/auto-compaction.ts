/**
 * Compaction within a reply: if the prompt has reached a threshold, the model first writes a summary of the
 * conversation, and then answers from the summary. A reply is compacted at most once, however long the prompt still is.
 */
import { userMessage } from "../../harmony/messages.ts";
import type { Model } from "../../models/models.ts";
import { consume, createPushStream, type PushStream } from "../../streams/push-stream.ts";
import { collectTurn } from "../../turn/collect.ts";
import { TurnError } from "../../turn/turn-error.ts";
import { TurnPrompt } from "../../turn/prompt/prompt.ts";
import type { Turn, TurnEnd, TurnEvent, TurnUsage } from "../../turn/turn.ts";
import { countOrInfinity } from "./shorten-history.ts";
import { finishedSummary, SUMMARY_INSTRUCTIONS } from "./summary-text.ts";

export interface CompactionPlan {
  /** The turn of the whole conversation, run if no summary is made. */
  readonly whole: Turn;
  /** Instructions for the summary, in place of the gateway's. */
  readonly instructions?: string | undefined;
  /** The turn with the summary in place of the summarized messages. */
  readonly after: (summary: string) => Turn | Promise<Turn>;
  /** Whether the reply ends with the summary. */
  readonly pauses: boolean;
}

export interface MadeSummary {
  /** Undefined: the model did not finish the summary. */
  readonly text: string | undefined;
  readonly usage: TurnUsage;
}

export class AutoCompaction {
  readonly #plan: CompactionPlan;
  /** Set before the first event of the reply. */
  made: MadeSummary | undefined;
  /** The turn of the answer. Set before its first event. */
  ran: Turn | undefined;

  constructor(plan: CompactionPlan) {
    this.#plan = plan;
  }

  /** Whether the reply has ended with the summary. */
  get hasPaused(): boolean {
    return this.#plan.pauses && this.made?.text !== undefined;
  }

  /** The events of the reply, which begin after the summary is made. */
  run(
    model: Pick<Model, "run">,
    runTurn: (turn: Turn) => AsyncIterable<TurnEvent>,
    signal: AbortSignal,
  ): PushStream<TurnEvent> {
    return createPushStream(async (consumer) => {
      const { whole, instructions, after } = this.#plan;
      const summarizing = model.run(toSummaryTurn(whole, instructions), signal);
      this.made = await readSummary(summarizing);
      const { text } = this.made;
      if (this.hasPaused) {
        if (await consumer({ type: "start", promptTokens: 0 })) await consumer(NOTHING);
        return;
      }
      this.ran = text === undefined ? whole : await after(text);
      await consume(runTurn(this.ran), consumer);
    });
  }
}

/**
 * The turn that writes the summary: the whole prompt, so that the engine's prefix cache is used, followed by a request.
 * The reasoning of a running loop is included.
 */
function toSummaryTurn(whole: Turn, instructions: string | undefined): Turn {
  const {
    gatewayTools: _gatewayTools,
    maxOutputTokens: _limit,
    topLogprobs: _logprobs,
    prefill: _prefill,
    ...rest
  } = whole;
  return {
    ...rest,
    prompt: new TurnPrompt([
      ...rest.prompt.messages,
      userMessage(instructions ?? SUMMARY_INSTRUCTIONS),
    ]),
    // The prompt offers tools, but a call would not be a summary.
    toolChoice: { type: "none" },
    answer: { type: "text" },
    reasoning: { enabled: true },
    stop: [],
  };
}

async function readSummary(events: AsyncIterable<TurnEvent>): Promise<MadeSummary> {
  try {
    const finished = await collectTurn(events);
    return { text: finishedSummary(finished), usage: finished.end.usage };
  } catch (error) {
    // Without the appended request, the whole prompt may still fit.
    if (!isTooLong(error)) throw error;
    return { text: undefined, usage: NO_USAGE };
  }
}

const NO_USAGE: TurnUsage = {
  promptTokens: 0,
  cachedTokens: 0,
  completionTokens: 0,
  reasoningTokens: 0,
  engineCalls: 0,
};

const NOTHING: TurnEnd = {
  type: "end",
  finish: "stop",
  nativeReason: null,
  usage: NO_USAGE,
  recoveries: new Map(),
};

/** Tokens that must remain for a summary, in addition to the answer's. */
const SUMMARY_ROOM = 8192;

/**
 * Whether the prompt has reached the threshold, without tokens that a summary cannot replace, or leaves no room for a
 * summary.
 *
 * @param prompt `keptTokens`: tokens of the user's messages before an earlier summary, which stay
 * @param threshold undefined: only the room counts.
 */
export async function reachesThreshold(
  { turn, keptTokens }: { readonly turn: Turn; readonly keptTokens: number },
  threshold: number | undefined,
  model: Model,
  signal: AbortSignal,
): Promise<boolean> {
  const { contextLength = Infinity } = model;
  const room = contextLength - (turn.maxOutputTokens ?? 0) - SUMMARY_ROOM;
  // With a short context, or a limit as long as the context, half of the context is the threshold.
  const most = Math.max(room, contextLength / 2);
  const tokens = await countOrInfinity(model.countTurnTokens(turn, signal));
  return tokens >= most || tokens - keptTokens >= (threshold ?? Infinity);
}

function isTooLong(error: unknown): boolean {
  return error instanceof TurnError && error.kind === "context-length";
}
