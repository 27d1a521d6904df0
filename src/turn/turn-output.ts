/** The events that a turn gives out. */
import {
  type Consumer,
  deliverAll,
  type Demand,
  directTo,
  SerialQueue,
} from "../streams/push-stream.ts";
import type { OnFact } from "./facts.ts";
import type { TurnEvent } from "./turn.ts";

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
    // Deltas are left out: they are made from tokens that have been reported.
    if (this.#onFact) {
      for (const event of events) {
        if (event.type !== "part-delta") this.#onFact({ type: "emitted", event });
      }
    }
    return this.pass(() => deliverAll(events, this.consumer));
  }

  /** To whom deltas may be delivered while the open part is continued. */
  consumerOfDeltas(): Consumer<TurnEvent> {
    // What waits has not been seen by those who tell.
    return this.demand === true ? directTo(this.consumer) : this.consumer;
  }
}
