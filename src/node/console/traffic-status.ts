/** The status line that shows the traffic. */
import { type Models, withTurnHook } from "../../models/models.ts";
import type { OnFact } from "../../turn/facts.ts";

interface Traffic {
  /** Turns that have not ended, including those that wait for a slot. */
  readonly inFlight: number;
  readonly queued: number;
  /** Number of tokens that engines have sent since the start. */
  readonly tokens: number;
}

/** Interval of updates: fast enough to follow, slow enough to read. */
const EVERY_MS = 500;
/** Samples of the last two seconds, from which the speed is computed. */
const MAX_SAMPLES = 5;

interface Sample {
  readonly at: number;
  readonly tokens: number;
}

/** Formats `2 running · 1 queued · 196 tokens/s`. Empty: no turn is running. */
class TrafficStatus {
  #samples: Sample[] = [];

  /** @param at time of a monotonic clock, in milliseconds. */
  next({ inFlight, queued, tokens }: Traffic, at: number): string {
    this.#samples = [...this.#samples, { at, tokens }].slice(-MAX_SAMPLES);
    if (inFlight === 0) {
      this.#samples = this.#samples.slice(-1);
      return "";
    }
    const [first] = this.#samples;
    const seconds = first === undefined ? 0 : (at - first.at) / 1000;
    const speed = seconds > 0 ? Math.round((tokens - (first?.tokens ?? tokens)) / seconds) : 0;
    return [
      `${Math.max(0, inFlight - queued)} running`,
      ...(queued > 0 ? [`${queued} queued`] : []),
      ...(speed > 0 ? [`${speed.toLocaleString("en-US")} tokens/s`] : []),
    ].join(" · ");
  }
}

/** Completions that wait for a slot, over all models. */
export function countQueued({ all }: Models): number {
  return all.reduce((sum, { pool }) => sum + (pool?.queued ?? 0), 0);
}

/** Updates the status line until it is stopped. Returns a function that stops it. */
export function showTraffic(read: () => Traffic, show: (text: string) => void): () => void {
  const status = new TrafficStatus();
  const update = () => show(indent(status.next(read(), performance.now())));
  const timer = setInterval(update, EVERY_MS).unref();
  return () => {
    clearInterval(timer);
    show("");
  };
}

function indent(text: string): string {
  return text === "" ? "" : `  ${text}`;
}

/** Wraps models so that turns report the tokens of each network read. */
export function countTokens(models: Models, onTokens: (tokens: number) => void): Models {
  const onFact: OnFact = (fact) => {
    if (fact.type === "ids") onTokens(fact.ids.length);
    else if (fact.type === "pieces") onTokens(fact.counts.reduce((sum, count) => sum + count, 0));
    else if (fact.type === "text") onTokens(fact.tokens ?? 1);
  };
  return withTurnHook(models, (_, turn, signal, run) => run(turn, signal, onFact));
}
