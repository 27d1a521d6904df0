/** Checks that tokens are streamed as they are sampled, and measures the speed of one stream and of several. */
import { EngineError } from "../../engines/engine-error.ts";
import { type Completion, firstTokenMs } from "../completion.ts";
import type { Examination } from "../examination.ts";
import {
  type Check,
  counted,
  duration,
  type Finding,
  notApplicable,
  ok,
  printable,
} from "../finding.ts";
import { conversation, FINAL } from "../prompts.ts";

const STREAMED_TOKENS = 96;
/** Maximum delay that is not noticeable. */
const SHORT_MS = 400;

export const STREAMING: Check = {
  id: "streaming",
  title: "Tokens come as they are sampled",
  asked: `${STREAMED_TOKENS} tokens, and when each arrived.`,
  means: "Users look at nothing for seconds, and then at the whole answer.",
  async run(examination, signal) {
    const prompt = conversation("Count from one to two hundred, in words.", FINAL);
    const completion = await examination.call(prompt, { maxTokens: STREAMED_TOKENS }, signal);
    return judge(completion);
  },
};

function judge({ ms, reads, tokens }: Completion): Finding {
  const first = reads[0]?.ms ?? ms;
  const last = reads.at(-1)?.ms ?? ms;
  if (tokens < 8) return notApplicable(`It wrote only ${counted(tokens, "token")}.`);
  const gaps = reads.slice(1).map((read, index) => read.ms - (reads[index]?.ms ?? 0));
  const longest = Math.max(0, ...gaps);
  const came =
    `${tokens} tokens in ${counted(reads.length, "read")}: the first after ${duration(first)}, ` +
    `the last after ${duration(last)}, the longest gap ${duration(longest)}.`;
  const measured = { reads: reads.length, longestGapMs: Math.round(longest) };
  if (last < SHORT_MS) return ok(came, measured);
  // In a steady stream the first token arrives early, and no gap is a large share of the total time.
  const isHeld = reads.length <= 2 || first > last * 0.8;
  const isBursty = longest > (last - first) / 2 && longest > SHORT_MS;
  if (!isHeld && !isBursty) return ok(came, measured);
  return {
    verdict: isHeld ? "broken" : "degraded",
    came,
    change:
      "Turn off buffering and compression in whatever is between (nginx: proxy_buffering off); " +
      "vLLM: --stream-interval 1.",
    measured,
  };
}

/** Number of tokens of each stream. */
const TOKENS = 64;
const LEVEL_MS = 20_000;

interface Level {
  readonly streams: number;
  readonly failures: readonly string[];
  /** Medians and totals of the completed streams. */
  readonly firstMs: number;
  readonly streamMs: number;
  readonly tokensPerSecond: number;
}

export const SPEED: Check = {
  id: "speed",
  title: "Its speed",
  asked: `${TOKENS} tokens in 1, 8 and 64 streams at a time.`,
  means: "How many clients it serves at once, and how long they wait.",
  isSlow: true,
  maxMs: 3 * LEVEL_MS + 5_000,
  async run(examination, signal) {
    const levels: Level[] = [];
    for (const streams of examination.streams) {
      const level = await runLevel(examination, streams, signal);
      levels.push(level);
      signal.throwIfAborted();
      if (level.failures.length > 0) break;
    }
    return judgeSpeed(levels, examination);
  },
};

async function runLevel(
  examination: Examination,
  streams: number,
  signal: AbortSignal,
): Promise<Level> {
  const { clock } = examination;
  const startedAt = clock.now();
  const settled = await Promise.allSettled(
    Array.from({ length: streams }, (_, index) =>
      examination.call(
        conversation(`Count from ${streams * 100 + index} upwards, in words.`, FINAL),
        { maxTokens: TOKENS, timeoutMs: LEVEL_MS },
        signal,
      ),
    ),
  );
  const seconds = (clock.now() - startedAt) / 1000;
  const done = settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const failures = settled.flatMap((each) =>
    each.status === "rejected" ? [describeFailure(each.reason)] : [],
  );
  const tokens = done.reduce((sum, each) => sum + each.tokens, 0);
  return {
    streams,
    failures,
    firstMs: median(done.map((each) => firstTokenMs(each) ?? each.ms)),
    streamMs: median(done.map((each) => each.ms)),
    tokensPerSecond: seconds > 0 ? tokens / seconds : 0,
  };
}

function describeFailure(error: unknown): string {
  if (error instanceof EngineError) return printable(error.message, 120);
  return error instanceof Error ? error.name : "an error";
}

function judgeSpeed(levels: readonly Level[], examination: Examination): Finding {
  const came = levels
    .map(({ streams, firstMs, tokensPerSecond, failures }) => {
      const rate = `${Math.round(tokensPerSecond)} tokens/s`;
      const lost = failures.length > 0 ? `, ${failures.length} failed (${failures[0]})` : "";
      return `${counted(streams, "stream")}: ${duration(firstMs)} to the first token, ${rate}${lost}`;
    })
    .join("; ");
  const measured = Object.fromEntries(
    levels.flatMap(({ streams, firstMs, tokensPerSecond }) => [
      [`firstTokenMs${streams}`, Math.round(firstMs * 10) / 10],
      [`tokensPerSecond${streams}`, Math.round(tokensPerSecond)],
    ]),
  );
  const worst = levels.findIndex(({ failures }) => failures.length > 0);
  // A stream whose first token comes only after another stream has ended was queued in the server.
  const queued = levels.findIndex(
    (level, index) =>
      level.firstMs > SHORT_MS &&
      index > 0 &&
      level.firstMs > (levels[index - 1]?.streamMs ?? Infinity),
  );
  const limit = worst >= 0 ? worst : queued;
  const comfortable = levels[limit - 1]?.streams;
  examination.comfortableStreams = comfortable;
  if (worst < 0) {
    if (comfortable === undefined) return ok(`${came}.`, measured);
    const note = ` Beyond ${comfortable} they wait for each other.`;
    return ok(`${came}.${note}`, measured);
  }
  return {
    verdict: worst === 0 ? "broken" : "degraded",
    came: `${came}.`,
    means: "With so many clients at once, some get errors.",
    change:
      comfortable === undefined
        ? "See the server's own log."
        : `--max-concurrent ${comfortable}: the gateway queues the others.`,
    measured,
  };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
