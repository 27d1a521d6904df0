/** Several turns of one request read as one. */
import { consume, SerialQueue, type Demand } from "../streams/push-stream.ts";
import type { TurnEvent } from "./turn.ts";

/** Consumes an event of the turn at this index. */
export type TakeIndexed = (event: TurnEvent, index: number) => Demand;

/**
 * Reads all turns at once, their events in the order they arrive. When one fails, the others are cancelled and the error is
 * thrown.
 */
export async function mergeTurns(
  turns: readonly AsyncIterable<TurnEvent>[],
  take: TakeIndexed,
): Promise<void> {
  const [only] = turns;
  if (only !== undefined && turns.length === 1) return consume(only, (event) => take(event, 0));
  const gate = new SerialQueue();
  try {
    await Promise.all(
      turns.map((turn, index) => consume(turn, (event) => gate.pass(() => take(event, index)))),
    );
  } finally {
    gate.close();
  }
}
