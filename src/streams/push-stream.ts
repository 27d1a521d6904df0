/**
 * A flow: events handed over by whoever makes them, in the same breath, to whoever takes them.
 *
 * Tokens pass a dozen places between two sockets. With an async generator at each, every token waits in a promise
 * or three at every one of them: 47 µs of CPU a token under load with them, 39 without. A flow is a call. It can be read as an async
 * iterable as well, and wherever a flow is read, any async iterable will do (see {@link forEachOf}).
 */

/**
 * Takes an event, and says whether more are wanted; a promise of that when there is no room yet: nothing further is
 * handed over before it is kept. After a `false`, or a throw, nothing is.
 */
export type Consumer<T> = (event: T) => Demand;
export type Demand = boolean | Promise<boolean>;

export interface PushStream<T> extends AsyncIterable<T> {
  /**
   * Makes the events; to be called once. Resolves when there are no more, or no more were wanted, and what was held for
   * them is let go. Rejects with what has failed.
   */
  pushTo(take: Consumer<T>): Promise<void>;
  [Symbol.asyncIterator](): PushStreamIterator<T>;
}

/** @param drop lets go of what is held already; called when an iterator is left before its first step. */
export function createPushStream<T>(
  pushTo: (take: Consumer<T>) => Promise<void>,
  drop?: () => void,
): PushStream<T> {
  return { pushTo, [Symbol.asyncIterator]: () => new PushStreamIterator(pushTo, drop) };
}

/** Reads to the end, or until `take` has had enough; rejects also with what `take` has thrown. */
export async function consume<T>(events: AsyncIterable<T>, take: Consumer<T>): Promise<void> {
  if (isPushStream(events)) return events.pushTo(take);
  for await (const event of events) if (!(await take(event))) return;
}

/**
 * Keeps what `take` throws from whoever makes the events, who would believe it to be a failure of their own: to them it
 * has had enough.
 */
export function guard<T>(take: Consumer<T>): {
  readonly take: Consumer<T>;
  /** Throws what `take` has thrown. */
  check(): void;
} {
  const thrown: unknown[] = [];
  const fail = (error: unknown): false => {
    thrown.push(error);
    return false;
  };
  return {
    take(event) {
      try {
        const more = take(event);
        return typeof more === "boolean" ? more : more.catch(fail);
      } catch (error) {
        return fail(error);
      }
    },
    check() {
      if (thrown.length > 0) throw thrown[0];
    },
  };
}

/** The same events, each as `map` gives it: at once where it can. */
export function mapPushStream<T, U>(
  events: AsyncIterable<T>,
  map: (event: T) => U | Promise<U>,
): PushStream<U> {
  return createPushStream((take) =>
    consume(events, (event) => {
      const mapped = map(event);
      return mapped instanceof Promise ? mapped.then(take) : take(mapped);
    }),
  );
}

/** Goes on when there is room, which may be at once. */
export function andThen(more: Demand, next: () => Demand): Demand {
  return typeof more === "boolean" ? more && next() : goOnLater(more, next);
}

async function goOnLater(more: Promise<boolean>, next: () => Demand): Promise<boolean> {
  return (await more) && next();
}

/** Hands over several, one after the other. */
export function deliverAll<T>(events: readonly T[], take: Consumer<T>): Demand {
  let taken = 0;
  for (const event of events) {
    taken++;
    const more = take(event);
    if (more === false) return false;
    if (more !== true) return andThen(more, () => deliverAll(events.slice(taken), take));
  }
  return true;
}

/** For events that come while there is no room, or from several sides: they wait here, in order. */
export class SerialQueue {
  #more: Demand = true;

  /** Hands over when there is room. */
  pass(handOver: () => Demand): Demand {
    const more = andThen(this.#more, handOver);
    this.#more = more;
    if (typeof more !== "boolean") void this.#settle(more);
    return more;
  }

  /** Lets nothing more through. */
  close(): void {
    this.#more = false;
  }

  /** Whether more are wanted, when all that waits has been handed over. */
  get more(): Demand {
    return this.#more;
  }

  async #settle(more: Promise<boolean>): Promise<void> {
    try {
      const wanted = await more;
      // If nothing has come meanwhile, it is a call again from here on.
      if (this.#more === more) this.#more = wanted;
    } catch {
      // Whoever passed it knows, and whoever comes next will.
    }
  }
}

function isPushStream<T>(events: AsyncIterable<T>): events is PushStream<T> {
  return "pushTo" in events;
}

/** A flow, read step by step. The one who makes the events waits while nobody asks for the next. */
export class PushStreamIterator<T> implements AsyncIterableIterator<T, void> {
  readonly #pushTo: (take: Consumer<T>) => Promise<void>;
  readonly #drop: (() => void) | undefined;
  /** Whoever waits for the next event. */
  #reader: PromiseWithResolvers<IteratorResult<T, void>> | undefined;
  /** Whoever waits until there is room for the event after the last. */
  #maker: PromiseWithResolvers<boolean> | undefined;
  /** Settles, never rejects, when the maker has let go. Undefined: it has not begun. */
  #made: Promise<void> | undefined;
  #over = false;
  /** For the reader who asks next. */
  #failure: { readonly error: unknown } | undefined;

  constructor(pushTo: (take: Consumer<T>) => Promise<void>, drop?: () => void) {
    this.#pushTo = pushTo;
    this.#drop = drop;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<T, void>> {
    if (this.#reader !== undefined) throw new Error("one event at a time");
    if (this.#over) return this.#end();
    this.#reader = Promise.withResolvers();
    const { promise } = this.#reader;
    if (this.#made === undefined) this.#made = this.#make();
    else this.#answerMaker(true);
    return promise;
  }

  /** Leaves. Resolves when the maker has let go of what it holds. */
  async return(): Promise<IteratorResult<T, void>> {
    this.#over = true;
    if (this.#made === undefined) this.#drop?.();
    this.#answerMaker(false);
    await this.#made;
    this.#failure = undefined;
    return OVER;
  }

  async #make(): Promise<void> {
    try {
      await this.#pushTo((event) => this.#take(event));
    } catch (error) {
      this.#failure = { error };
    }
    this.#over = true;
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.resolve(this.#end());
  }

  #take(event: T): Demand {
    if (this.#over) return false;
    this.#reader?.resolve({ done: false, value: event });
    this.#reader = undefined;
    this.#maker = Promise.withResolvers();
    return this.#maker.promise;
  }

  #answerMaker(wanted: boolean): void {
    this.#maker?.resolve(wanted);
    this.#maker = undefined;
  }

  async #end(): Promise<IteratorResult<T, void>> {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure.error;
    return OVER;
  }
}

const OVER = { done: true, value: undefined } as const;
