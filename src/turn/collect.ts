/** Collects the answer of a turn that the gateway reads itself: a summary, or an answer that the doctor judges. */
import { consume, type Demand } from "../streams/push-stream.ts";
import type { TurnEnd, TurnEvent } from "./turn.ts";

export interface FinishedTurn {
  /** The text of all its content parts. */
  readonly answer: string;
  readonly end: TurnEnd;
}

/**
 * Reads a turn to its end. Rejects with the turn's error.
 * @param hold receives each event before it is collected.
 */
export async function collectTurn(
  events: AsyncIterable<TurnEvent>,
  hold: (event: TurnEvent) => Demand = () => true,
): Promise<FinishedTurn> {
  let answer = "";
  let isContent = false;
  let end: TurnEnd | undefined;
  await consume(events, (event) => {
    const demand = hold(event);
    if (event.type === "part-start") isContent = event.part.kind === "content";
    else if (event.type === "part-delta" && isContent) answer += event.text;
    else if (event.type === "end") end = event;
    return demand;
  });
  if (end === undefined) throw new Error("the turn ended without an end event");
  return { answer, end };
}
