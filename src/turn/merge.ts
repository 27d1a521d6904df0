/** Merges the turns of one request into one stream. */
import { consume, SerialQueue, type Demand } from "../streams/push-stream.ts";
import type { TurnEvent } from "./turn.ts";

/** Consumes an event of the turn with this index. */
export type ConsumeIndexed = (event: TurnEvent, index: number) => Demand;

/**
 * Reads all turns concurrently and passes their events on in order of arrival. If one fails, the others are
 * cancelled and its error is thrown.
 */
export function mergeTurns(
  turns: readonly AsyncIterable<TurnEvent>[],
  consumeEvent: ConsumeIndexed,
): Promise<void> {
  const [only] = turns;
  if (only === undefined || turns.length > 1) return mergeAll(turns, consumeEvent);
  return consume(only, (event) => consumeEvent(event, 0));
}

async function mergeAll(
  turns: readonly AsyncIterable<TurnEvent>[],
  consumeEvent: ConsumeIndexed,
): Promise<void> {
  const queue = new SerialQueue();
  try {
    await Promise.all(
      turns.map((turn, index) =>
        consume(turn, (event) => queue.pass(() => consumeEvent(event, index))),
      ),
    );
  } finally {
    queue.close();
  }
}
