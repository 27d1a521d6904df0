/**
 * Returns the slot of a completion whose consumer has stalled, while other requests are queued for a slot.
 *
 * An engine is not read while its consumer has no room, so a client that reads nothing would hold a slot until it is
 * disconnected. If a consumer accepts nothing between two checks and a request is queued, the engine is read ahead into memory:
 * most answers end within the limit. A consumer that still accepts nothing at the limit is disconnected.
 */
import type { Consumer } from "../../streams/push-stream.ts";
import type { Clock } from "../clock.ts";
import { EngineError } from "../engine-error.ts";
import type { EngineEvent, TokenLogprob } from "../engine.ts";

export interface ReadAheadOptions {
  readonly clock: Clock;
  /** Whether requests are queued for a slot. */
  readonly isSlotWanted: () => boolean;
  /** Called when the consumer has stopped while the engine is being read. */
  readonly stop: () => void;
}

const LOOK_MS = 1000;
/** Consecutive checks without progress of the consumer, after which it may be disconnected. */
const LOOKS_UNTIL_CUT = 10;
/** Approximate bytes of events that are read ahead. */
const MAX_KEPT_BYTES = 1_000_000;

/** Delivers the events of one engine call to a consumer. */
export class ReadAhead {
  readonly #consumer: Consumer<EngineEvent>;
  /** The consumer has no room. */
  #isStalled = false;
  #isOver = false;
  /** Settles when the engine may continue. Undefined: the engine is not waiting. */
  #room: PromiseWithResolvers<boolean> | undefined;
  /** `end` was called while the consumer had no room. */
  #ended: PromiseWithResolvers<void> | undefined;
  /** The consumer's error, or the reason why the rest was dropped. */
  #failure: { readonly error: unknown } | undefined;
  /** The engine is being read although the consumer has no room. */
  #isAhead = false;
  #kept: EngineEvent[] = [];
  #keptBytes = 0;
  /** Number of times the consumer had room again, now and at the last check. */
  #deliveries = 0;
  #seen = 0;
  #idleLooks = 0;
  #cancelLook: (() => void) | undefined;
  readonly #options: ReadAheadOptions;

  constructor(consumer: Consumer<EngineEvent>, options: ReadAheadOptions) {
    this.#consumer = consumer;
    this.#options = options;
  }

  readonly take: Consumer<EngineEvent> = (event) => {
    if (this.#isOver) return false;
    if (this.#isStalled) {
      this.#kept.push(event);
      this.#keptBytes += countBytes(event);
      if (this.#isAhead && this.#keptBytes < MAX_KEPT_BYTES) return true;
    } else {
      const demand = this.#consumer(event);
      if (typeof demand === "boolean") return demand;
      this.#isStalled = true;
      demand.then(this.#deliverKept, this.drop);
      this.#cancelLook ??= this.#options.clock.after(LOOK_MS, this.#look);
    }
    this.#room = Promise.withResolvers();
    return this.#room.promise;
  };

  /** The consumer has stopped. */
  get isStopped(): boolean {
    return this.#isOver && this.#failure === undefined;
  }

  /**
   * The engine has ended. Resolves when the consumer has accepted everything; rejects with its error, or with the error passed to
   * `drop`.
   */
  async end(): Promise<void> {
    this.#stopLooking();
    if (this.#failure !== undefined) throw this.#failure.error;
    if (!this.#isStalled || this.#isOver) return;
    this.#ended = Promise.withResolvers();
    await this.#ended.promise;
  }

  readonly #deliverKept = (wanted: boolean): void => {
    this.#deliveries += 1;
    let demand = wanted && !this.#isOver;
    try {
      for (let event; demand && (event = this.#kept.shift()) !== undefined;) {
        this.#keptBytes -= countBytes(event);
        const next = this.#consumer(event);
        if (typeof next !== "boolean") {
          next.then(this.#deliverKept, this.drop);
          return;
        }
        demand = next;
      }
    } catch (error) {
      this.drop(error);
      return;
    }
    this.#isStalled = false;
    this.#isAhead = false;
    this.#answer(demand);
  };

  /** The consumer has accepted everything, or has stopped. */
  #answer(wanted: boolean): void {
    if (!wanted && !this.#isOver) {
      this.#isOver = true;
      this.#kept = [];
      if (this.#room === undefined && this.#ended === undefined) this.#options.stop();
    }
    this.#room?.resolve(wanted);
    this.#room = undefined;
    this.#ended?.resolve();
  }

  /** Drops events that the consumer has not accepted. */
  readonly drop = (error: unknown): void => {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#kept = [];
    this.#failure = { error };
    this.#room?.reject(error);
    this.#room = undefined;
    this.#ended?.reject(error);
  };

  readonly #look = (): void => {
    this.#cancelLook = undefined;
    if (!this.#isStalled || this.#isOver) return;
    const isIdle = this.#deliveries === this.#seen;
    this.#seen = this.#deliveries;
    this.#idleLooks = isIdle ? this.#idleLooks + 1 : 0;
    if (isIdle && this.#options.isSlotWanted()) this.#readOrCut();
    this.#cancelLook = this.#options.clock.after(LOOK_MS, this.#look);
  };

  #readOrCut(): void {
    if (this.#keptBytes < MAX_KEPT_BYTES) {
      this.#isAhead = true;
      this.#room?.resolve(true);
      this.#room = undefined;
    } else if (this.#idleLooks >= LOOKS_UNTIL_CUT) {
      this.drop(
        new EngineError(
          "tenant-limit",
          `Nothing of this answer was read for ${(LOOKS_UNTIL_CUT * LOOK_MS) / 1000} s while other requests waited for its ` +
            "slot. Read answers as they arrive.",
        ),
      );
    }
  }

  #stopLooking(): void {
    this.#cancelLook?.();
    this.#cancelLook = undefined;
  }
}

/** An estimate of an event's size in memory. */
function countBytes(event: EngineEvent): number {
  switch (event.type) {
    case "open":
    case "progress":
    case "finish":
      return EVENT_BYTES;
    case "ids":
      return EVENT_BYTES + 8 * event.ids.length + countLogprobs(event.logprobs) * LOGPROB_BYTES;
    case "pieces":
      return event.pieces.reduce(
        (sum, piece) => sum + EVENT_BYTES + ("text" in piece ? 2 * piece.text.length : 0),
        EVENT_BYTES,
      );
    case "text":
      return EVENT_BYTES + 2 * event.text.length;
    default:
      return event satisfies never;
  }
}

const EVENT_BYTES = 100;
const LOGPROB_BYTES = 50;

function countLogprobs(logprobs: readonly TokenLogprob[] = []): number {
  return logprobs.reduce((sum, { top }) => sum + 1 + top.length, 0);
}
