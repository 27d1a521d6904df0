/** Collects a turn's events into its parts and its end, for replies that are not streamed. */
import { consume, type Demand } from "../streams/push-stream.ts";
import type { Citation } from "./output/citations.ts";
import type { GatewayCallResult, Part, TurnEnd, TurnEvent } from "./turn.ts";

export type FinishedPart = Part & {
  readonly text: string;
  /** Encrypted reasoning, if requested; for a tool call, its encrypted position. */
  readonly sealed?: string;
  /** The summary of a reasoning part, if one was made. */
  readonly summary?: string;
  /** The citations in an answer, in order. */
  readonly citations?: readonly Citation[];
  /** The result of a call that the gateway has run. */
  readonly result?: GatewayCallResult;
};

export interface FinishedTurn {
  readonly parts: readonly FinishedPart[];
  readonly end: TurnEnd;
}

/**
 * Reads a turn to its end. Rejects with the turn's error.
 * @param hold counts each event before it is collected, and keeps log probabilities.
 */
export async function collectTurn(
  events: AsyncIterable<TurnEvent>,
  hold: (event: TurnEvent) => Demand = () => true,
): Promise<FinishedTurn> {
  const parts: FinishedPart[] = [];
  let open: OpenPart | undefined;
  let end: TurnEnd | undefined;
  await consume(events, (event) => {
    const demand = hold(event);
    switch (event.type) {
      case "start":
      case "prefill":
        break;
      case "part-start":
        open = { part: event.part, sealed: event.sealed, text: "", citations: [] };
        break;
      case "part-delta":
        if (open) {
          open.text += event.text;
          if (event.citations) open.citations.push(...event.citations);
        }
        break;
      case "part-end":
        if (open) {
          const { part, text, citations } = open;
          const { sealed = open.sealed, summary } = event;
          parts.push({
            ...part,
            text,
            ...(sealed !== undefined && { sealed }),
            ...(summary !== undefined && { summary }),
            ...(citations.length > 0 && { citations }),
          });
        }
        open = undefined;
        break;
      case "builtin-result": {
        const call = parts.pop();
        if (call) parts.push({ ...call, result: event });
        break;
      }
      case "end":
        end = event;
        break;
      default:
        event satisfies never;
    }
    return demand;
  });
  if (end === undefined) throw new Error("the turn ended without an end event");
  return { parts, end };
}

interface OpenPart {
  readonly part: Part;
  readonly sealed: string | undefined;
  text: string;
  readonly citations: Citation[];
}
