/**
 * Graceful shutdown. First, new work is refused. Then in-flight work may finish. Shortly before the grace period ends, the rest
 * is stopped with a typed error, while there is still time to notify clients and the store.
 */
import { followSignal } from "../streams/follow-signal.ts";
import { createPushStream, consume, type Consumer, type Demand } from "../streams/push-stream.ts";
import { type Model, type Models, withTurnHook } from "./models.ts";
import { TurnError } from "../turn/turn-error.ts";
import type { Turn, TurnEvent } from "../turn/turn.ts";

export interface Shutdown {
  /** Aborted when the shutdown begins. */
  readonly closing: AbortSignal;
  /** Aborted when in-flight work must end, with the error for its clients. */
  readonly stopping: AbortSignal;
  /** Number of turns that have not ended. */
  inFlight(): number;
  begin(): void;
  /** Stops every turn: each throws a {@link TurnError} of the kind `shutdown`. */
  stop(): void;
  /** Tracks work that outlasts its request, so that a shutdown waits for it. It must never reject. */
  track(work: Promise<void>): void;
  /** Resolves when all tracked work is done. */
  idle(): Promise<void>;
  /** Wraps models so that a shutdown stops their turns. */
  watch(models: Models): Models;
}

export function createShutdown(): Shutdown {
  const closing = new AbortController();
  const stopping = new AbortController();
  const tracked = new Set<Promise<void>>();
  const turns = new Set<AbortController>();

  return {
    closing: closing.signal,
    stopping: stopping.signal,
    inFlight: () => turns.size,
    begin: () => closing.abort(),
    stop() {
      closing.abort();
      stopping.abort(shutdownError());
      for (const turn of turns) turn.abort(shutdownError());
    },
    track(work) {
      const settled = work.finally(() => tracked.delete(settled));
      tracked.add(settled);
    },
    async idle() {
      while (tracked.size > 0) await Promise.all(tracked);
    },
    watch: (models) =>
      withTurnHook(models, (_, turn, signal, run) =>
        createPushStream<TurnEvent>((consumer) => runStoppable(run, turn, signal, consumer)),
      ),
  };

  /** Runs a turn with a separate controller, instead of a listener on a shared signal: removal from a set costs nothing. */
  function runStoppable(
    run: Model["run"],
    turn: Turn,
    signal: AbortSignal,
    consumer: Consumer<TurnEvent>,
  ): Promise<void> {
    const abort = new AbortController();
    const release = followSignal(abort, signal);
    if (stopping.signal.aborted) abort.abort(shutdownError());
    turns.add(abort);
    let hasEnded = false;
    /** Throws if the turn was stopped before its end. */
    const settle = () => {
      turns.delete(abort);
      release();
      if (stopping.signal.aborted && !signal.aborted && !hasEnded) throw shutdownError();
    };
    const take = (event: TurnEvent): Demand => {
      hasEnded ||= event.type === "end";
      return consumer(event);
    };
    const ended = consume(run(turn, abort.signal), take);
    // The frame of an `await` would be held as long as the turn runs.
    return ended.then(settle, (error) => {
      settle();
      throw error;
    });
  }
}

export function shutdownError(): TurnError {
  return new TurnError("shutdown", "The gateway is shutting down.");
}
