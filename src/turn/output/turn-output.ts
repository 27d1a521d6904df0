/** Emits the events of a turn. */
import { type Consumer, deliverAll, type Demand, SerialQueue } from "../../streams/push-stream.ts";
import type { OnFact } from "../facts.ts";
import type { TurnEvent } from "../turn.ts";

export class TurnOutput extends SerialQueue {
  readonly consumer: Consumer<TurnEvent>;
  readonly #onFact: OnFact | undefined;

  constructor(consumer: Consumer<TurnEvent>, onFact: OnFact | undefined) {
    super();
    this.consumer = consumer;
    this.#onFact = onFact;
  }

  /** Passes events to the consumer. Returns false if it wants no more. */
  emit(events: readonly TurnEvent[]): Demand {
    // Deltas are not reported as facts: they are made from tokens that have been reported.
    if (this.#onFact) {
      for (const event of events) {
        if (event.type !== "part-delta") this.#onFact({ type: "emitted", event });
      }
    }
    const [first] = events;
    return first !== undefined && events.length === 1
      ? this.deliver(first, this.consumer)
      : this.pass(() => deliverAll(events, this.consumer));
  }

  /** Like {@link emit}, for a single delta. */
  emitDelta(delta: TurnEvent): Demand {
    return this.deliver(delta, this.consumer);
  }
}

/** Ends a turn whose consumer wants no more events. `runTurn` drops it: a cancelled turn has no failure to report. */
export class ConsumerStopped extends Error {
  constructor() {
    super("the turn's consumer wants no more events");
  }
}
