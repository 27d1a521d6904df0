/**
 * Requests to several targets in turn, on connections that stay open: a batch to one, and when all of it is answered, a
 * batch to the next. So in any stretch of time each target answers as many requests as the others.
 */
import { createRandom, toPercentiles } from "../statistics.ts";
import type { AskedTimes } from "./load.ts";
import { Stream, type StreamOptions } from "./stream.ts";
import { nowMs } from "./words.ts";

export interface AlternatedTimes extends AskedTimes {
  readonly answers: number;
  /** From the first request of a batch to its last answer, of all batches. */
  readonly busyMs: number;
}

interface Target {
  readonly options: StreamOptions;
  readonly clients: readonly Stream[];
  busyMs: number;
  firstMs: number[];
  wholeMs: number[];
}

export class Alternation {
  readonly #targets: readonly Target[];
  readonly #random = createRandom(1);
  #pending = 0;
  #answered: () => void = () => {};
  #failed: (error: Error) => void = () => {};
  #failure: Error | undefined;

  /** With `clients` connections to each target: the size of a batch. */
  constructor(targets: readonly StreamOptions[], clients: number) {
    this.#targets = targets.map((options) => this.#connect(options, clients));
  }

  /** Until this many milliseconds have passed and each target has had as many batches as the others. */
  async run(ms: number): Promise<AlternatedTimes[]> {
    const until = nowMs() + ms;
    return this.#runWhile(() => nowMs() < until);
  }

  /** Sends requests until each target has answered this many. */
  async warmUp(requests: number): Promise<void> {
    await this.#runWhile(() => this.#targets.some(({ wholeMs }) => wholeMs.length < requests));
  }

  async #runWhile(isWanted: () => boolean): Promise<AlternatedTimes[]> {
    for (const target of this.#targets) {
      target.busyMs = 0;
      target.firstMs = [];
      target.wholeMs = [];
    }
    while (isWanted()) {
      // In another order each time, so that no target always follows the same one.
      for (const target of this.#shuffled()) {
        const askedMs = nowMs();
        await this.#askAll(target);
        target.busyMs += nowMs() - askedMs;
      }
    }
    return this.#targets.map(({ busyMs, firstMs, wholeMs }) => ({
      answers: wholeMs.length,
      busyMs,
      firstMs: toPercentiles(firstMs),
      wholeMs: toPercentiles(wholeMs),
    }));
  }

  leave(): void {
    for (const { clients } of this.#targets) for (const client of clients) client.leave();
  }

  #connect(options: StreamOptions, clients: number): Target {
    const events = {
      onWords: (_words: readonly string[], receivedMs: number, stream: Stream) => {
        if (stream.wordsMs === 0) target.firstMs.push(receivedMs - stream.askedMs);
      },
      onEnd: ({ askedMs }: Stream) => {
        target.wholeMs.push(nowMs() - askedMs);
        if (--this.#pending === 0) this.#answered();
      },
      onFailure: (reason: string) => {
        this.#failure = new Error(reason);
        this.#failed(this.#failure);
      },
    };
    const target: Target = {
      options,
      clients: Array.from({ length: clients }, () => new Stream(options, events)),
      busyMs: 0,
      firstMs: [],
      wholeMs: [],
    };
    return target;
  }

  #askAll({ clients, options }: Target): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#pending = clients.length;
    this.#answered = resolve;
    this.#failed = reject;
    for (const client of clients) client.ask(options.request);
    if (this.#failure !== undefined) reject(this.#failure);
    return promise;
  }

  #shuffled(): Target[] {
    return this.#targets
      .map((target) => ({ target, at: this.#random() }))
      .toSorted((a, b) => a.at - b.at)
      .map(({ target }) => target);
  }
}
