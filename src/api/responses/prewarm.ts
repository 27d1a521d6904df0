/** `generate: false`: the request is checked and stored, so that its id can be continued, and nothing is sampled. */
import { createPushStream, type PushStream } from "../../streams/push-stream.ts";
import type { Model } from "../../models/models.ts";
import type { Turn, TurnEvent } from "../../turn/turn.ts";

/** The events of a turn without parts. Rendering the prompt leaves its tokens in the caches of the gateway. */
export function prewarm(model: Model, turn: Turn, signal: AbortSignal): PushStream<TurnEvent> {
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
