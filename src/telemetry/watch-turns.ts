/** Watches turns for records, metrics, the log and the audit, in one layer around each turn. No other behaviour depends on it. */
import { type Model, type Models, joinListeners, withTurnHook } from "../models/models.ts";
import { consume, createPushStream } from "../streams/push-stream.ts";
import type { OnFact } from "../turn/facts.ts";
import type { Turn, TurnEvent } from "../turn/turn.ts";
import { toFailure } from "./describe-for-log.ts";

export interface TurnWatch {
  readonly onFact?: OnFact;
  /** Called after the event was delivered: the client does not wait for it. */
  see?(event: TurnEvent): void;
  /**
   * Called last. `cancelled`: the signal is aborted, or the consumer has stopped, which also happens after each `end`. An error
   * may follow the `end`: it concerns later work, such as storing a response, and not the turn.
   */
  over(outcome: TurnOutcome, error?: unknown): void;
}

export type TurnOutcome = "cancelled" | ReturnType<typeof toFailure>;

/** Undefined: the turn is not watched. */
export type BeginWatch = (model: Model, turn: Turn) => TurnWatch | undefined;

export function watchTurns(models: Models, begins: readonly BeginWatch[]): Models {
  return withTurnHook(models, (model, turn, signal, run) =>
    createPushStream<TurnEvent>((consumer) => {
      const watches = begins.flatMap((begin) => begin(model, turn) ?? []);
      const onFact = watches.map((watch) => watch.onFact).reduce(joinListeners, undefined);
      const over = (outcome: TurnOutcome, error?: unknown): void => {
        for (const watch of watches) watch.over(outcome, error);
      };
      const ended = consume(run(turn, signal, onFact), (event) => {
        try {
          return consumer(event);
        } finally {
          for (const watch of watches) watch.see?.(event);
        }
      });
      // The frame of an `await` would be held as long as the turn runs.
      return ended.then(
        () => over("cancelled"),
        (error: unknown) => {
          if (signal.aborted) over("cancelled");
          else over(toFailure(error), error);
          throw error;
        },
      );
    }),
  );
}
