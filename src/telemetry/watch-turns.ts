/** Watches turns for records, metrics, the log and the audit, in one layer around each turn. Nothing else depends on it. */
import { type Model, type Models, joinListeners, withTurnHook } from "../models/models.ts";
import { consume, createPushStream } from "../streams/push-stream.ts";
import type { OnFact } from "../turn/facts.ts";
import type { Turn, TurnEvent } from "../turn/turn.ts";
import { toFailure } from "./describe-for-log.ts";

export interface TurnWatch {
  readonly onFact?: OnFact;
  /** Called when the event has been passed on: the client does not wait for it. */
  see?(event: TurnEvent): void;
  /**
   * Called last. `cancelled`: the signal is aborted, or nobody reads on, which is so after each `end` too. An error may also come
   * behind the `end`: what fails there, such as the storing of a response, is not the turn.
   */
  over(outcome: TurnOutcome, error?: unknown): void;
}

export type TurnOutcome = "cancelled" | ReturnType<typeof toFailure>;

/** Undefined: this turn is not watched. */
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
      // Not `await`, whose frame would be held as long as the turn runs.
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
