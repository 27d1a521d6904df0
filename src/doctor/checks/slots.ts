/** Checks the engine's state between calls: slots of disconnected clients, and cached prompts. */
import { asList, asObject, parseJson } from "../../engines/untyped-json.ts";
import { sleep } from "../../streams/timers.ts";
import { firstTokenMs } from "../completion.ts";
import { adviceFor } from "../engine-advice.ts";
import type { Examination } from "../examination.ts";
import { type Check, duration, type Finding, notApplicable, ok } from "../finding.ts";
import { conversation, FINAL, toIds } from "../prompts.ts";

/** Number of streams that are opened and abandoned. */
const LEFT_STREAMS = 8;
/** Maximum tokens of each stream if it is not stopped. */
const LONG_TOKENS = 4096;
const POLL_MS = 50;
/** Maximum time until the server reports that no requests are running. */
const FREED_OK_MS = 2_000;

const ABORT: Check = {
  id: "abort",
  title: "Leaving frees the slot",
  asked: `${LEFT_STREAMS} long answers whose reader leaves at the first token; then a short one.`,
  means: "Abandoned answers keep the machine busy, and the next client waits for them.",
  maxMs: 60_000,
  async run(examination, signal) {
    const short = conversation("Say hello.", FINAL);
    const baseline = await timeFirstToken(examination, short, signal);
    const before = await countRunning(examination, signal);
    const patience = examination.patienceMs + baseline * 2 * LEFT_STREAMS;

    const long = conversation("Count from one to five thousand, in words.", FINAL);
    const room = Math.floor((examination.contextLength ?? Infinity) - long.length - 1);
    const maxTokens = Math.max(1, Math.min(LONG_TOKENS, room));
    const left = await Promise.allSettled(
      Array.from({ length: LEFT_STREAMS }, () =>
        examination.call(long, { maxTokens, leaveAfter: 1, timeoutMs: patience }, signal),
      ),
    );
    signal.throwIfAborted();
    const leftAt = examination.clock.now();
    const waiting = left.filter(({ status }) => status === "rejected").length;
    const next = await timeFirstToken(examination, short, signal, patience).catch(() => undefined);
    const freed = await awaitIdle(examination, before, signal);
    return judgeAbort({
      patienceMs: examination.patienceMs,
      baseline,
      next,
      waiting,
      freedMs: freed === undefined ? undefined : freed - leftAt,
      isCounted: before !== undefined,
    });
  },
};

interface AbortTimes {
  readonly patienceMs: number;
  /** Time to the first token in milliseconds, before and after the streams were abandoned. */
  readonly baseline: number;
  readonly next: number | undefined;
  /** Number of streams that received no token in time. */
  readonly waiting: number;
  /** Time until the server reported no more running requests than before. */
  readonly freedMs: number | undefined;
  readonly isCounted: boolean;
}

function judgeAbort(times: AbortTimes): Finding {
  const { baseline, next, waiting, freedMs, isCounted } = times;
  const change =
    "Let nothing between gateway and server keep connections open, and update the server.";
  const measured = {
    ...(next !== undefined && { nextFirstTokenMs: Math.round(next) }),
    ...(freedMs !== undefined && { freedMs: Math.round(freedMs) }),
  };
  if (waiting > 0 || next === undefined) {
    return {
      verdict: "broken",
      came: `${waiting} of ${LEFT_STREAMS} streams waited in vain, and the next answer ${next === undefined ? "too" : "did not"}.`,
      change,
      measured,
    };
  }
  const came = `The next first token came after ${duration(next)}, before it took ${duration(baseline)}`;
  if (isCounted && freedMs === undefined) {
    const late = `${came}; after ${duration(times.patienceMs)} the server still counted them as running.`;
    return { verdict: "broken", came: late, change, measured };
  }
  const freed = freedMs === undefined ? "" : `; the server was idle after ${duration(freedMs)}`;
  const isSlow = next > Math.max(baseline * 5, baseline + 2_000);
  if (!isSlow && (freedMs ?? 0) <= FREED_OK_MS) return ok(`${came}${freed}.`, measured);
  return { verdict: isSlow ? "broken" : "degraded", came: `${came}${freed}.`, change, measured };
}

async function timeFirstToken(
  examination: Examination,
  ids: readonly number[],
  signal: AbortSignal,
  timeoutMs?: number,
): Promise<number> {
  const completion = await examination.call(
    ids,
    { maxTokens: 4, leaveAfter: 1, ...(timeoutMs !== undefined && { timeoutMs }) },
    signal,
  );
  return firstTokenMs(completion) ?? completion.ms;
}

/**
 * The time at which no more requests were running than before. Undefined if that did not happen or the server does
 * not report it.
 */
async function awaitIdle(
  examination: Examination,
  before: number | undefined,
  signal: AbortSignal,
): Promise<number | undefined> {
  if (before === undefined) return undefined;
  const until = examination.clock.now() + examination.patienceMs;
  while (examination.clock.now() < until && !signal.aborted) {
    const running = await countRunning(examination, signal);
    if (running !== undefined && running <= before) return examination.clock.now();
    await sleep(POLL_MS, signal);
  }
  return undefined;
}

/** Running completions, as reported by the server. Undefined if it does not report them. */
async function countRunning(
  { kind, query }: Examination,
  signal: AbortSignal,
): Promise<number | undefined> {
  if (query === undefined) return undefined;
  if (kind === "llama-cpp") {
    const text = await query.get("/slots", signal);
    const slots = asList(text === undefined ? undefined : parseJson(text));
    if (slots.length === 0) return undefined;
    return slots.filter((slot) => asObject(slot)["is_processing"] === true).length;
  }
  const name = adviceFor(kind).runningGauge;
  if (name === undefined) return undefined;
  const text = (await query.get("/metrics", signal)) ?? "";
  const values = text
    .split("\n")
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .map((line) => Number(line.split(" ").at(-1)));
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
}

/** Tokens of a prompt that fills several blocks of any cache, but fits a small context. */
const CACHED_TOKENS = 1500;

const PREFIX_CACHE: Check = {
  id: "prefix-cache",
  title: "Prompts are read once",
  asked: "The same long prompt twice, and how much of the second came from the cache.",
  means:
    "Each step of a conversation costs the whole of it again: slow first tokens, less throughput.",
  async run(examination, signal) {
    if (examination.engine.name === "demo")
      return notApplicable("It has no model to read prompts.");
    const ids = longPrompt(examination, "prefix");
    if (ids === undefined) return notApplicable("The context is too short to tell.");
    const first = await examination.call(ids, { maxTokens: 1 }, signal);
    const second = await examination.call(ids, { maxTokens: 1 }, signal);
    const cached = second.finish?.usage?.cachedTokens;
    const [before, after] = [firstTokenMs(first) ?? first.ms, firstTokenMs(second) ?? second.ms];
    const times = `${duration(before)}, then ${duration(after)} to the first token`;
    const change = adviceFor(examination.kind).prefixCache;
    if (cached !== undefined && cached > 0) {
      const share = cached / ids.length;
      const came = `${cached} of ${ids.length} tokens were cached; ${times}.`;
      return share >= 0.5
        ? ok(came, { cachedTokens: cached, promptTokens: ids.length })
        : { verdict: "degraded", came, change };
    }
    if (after < before / 2 && before > 50) {
      return {
        verdict: "degraded",
        came: `It was faster, and does not say that it was cached: ${times}.`,
        means: "Usage says 0 cached tokens.",
        change,
      };
    }
    return {
      verdict: "degraded",
      came:
        cached === undefined
          ? `It does not say, and was no faster: ${times}.`
          : `None of ${ids.length} tokens; ${times}.`,
      change,
    };
  },
};

/** Sampled tokens: more than the largest block that a known server caches as a whole, vLLM's 128 on a CPU. */
const SAMPLED_TOKENS = 200;
const LARGEST_BLOCK = 128;
const ADDED_TOKENS = 50;
/** A text that the engine repeats with a bias of 100, so that text encodes to the sampled tokens. */
const REPEATED = " banana";

const LOOP_CACHE: Check = {
  id: "loop-cache",
  title: "What it wrote is not read again",
  asked: `${SAMPLED_TOKENS} tokens; then the same prompt with them and ${ADDED_TOKENS} more, as the next step of a tool loop is.`,
  means: "Each step of a tool loop reads again what the model wrote in the step before.",
  async run(examination, signal) {
    if (examination.engine.name === "demo")
      return notApplicable("It has no model to read prompts.");
    const ids = longPrompt(examination, "loop");
    const { contextLength = Infinity } = examination;
    if (ids === undefined || ids.length + SAMPLED_TOKENS + ADDED_TOKENS >= contextLength) {
      return notApplicable("The context is too short to tell.");
    }
    const [repeated = 0] = toIds([REPEATED]);
    const sampling = (await examination.obeysBias(signal))
      ? { logitBias: new Map([[repeated, 100]]) }
      : {};
    const step = await examination.call(ids, { maxTokens: SAMPLED_TOKENS, sampling }, signal);
    const sampled = step.form === "ids" ? step.ids : toIds([step.text]);
    if (sampled.length <= LARGEST_BLOCK) {
      return notApplicable(`It wrote only ${sampled.length} tokens.`);
    }
    const added = toIds([" so".repeat(ADDED_TOKENS)]);
    const next = await examination.call([...ids, ...sampled, ...added], { maxTokens: 1 }, signal);
    const cached = next.finish?.usage?.cachedTokens;
    if (cached === undefined) return notApplicable("It does not say what was cached.");
    return judgeLoop(examination, { prompt: ids.length, sampled: sampled.length, cached });
  },
};

function judgeLoop(
  { kind }: Examination,
  { prompt, sampled, cached }: { prompt: number; sampled: number; cached: number },
): Finding {
  const came = `${cached} tokens were cached, of a prompt of ${prompt} and ${sampled} that it wrote.`;
  if (cached > prompt) {
    return ok(came, { cachedTokens: cached, promptTokens: prompt, sampledTokens: sampled });
  }
  if (cached > prompt - LARGEST_BLOCK) {
    const change = adviceFor(kind).loopCache;
    return { verdict: "degraded", came, change };
  }
  return {
    verdict: "degraded",
    came,
    means: "Each step of a tool loop reads the whole conversation again.",
    change: adviceFor(kind).prefixCache,
  };
}

const CACHE_ISOLATION: Check = {
  id: "cache-isolation",
  title: "Tenants have caches of their own",
  asked: "A prompt of one tenant, then the same prompt of another.",
  means: "Who shares the server can tell by the time whether a prompt was there before.",
  async run(examination, signal) {
    const ids = longPrompt(examination, "isolation");
    if (ids === undefined) return notApplicable("The context is too short to tell.");
    const ask = async (cacheSalt: string): Promise<number | undefined> => {
      const { finish } = await examination.call(ids, { maxTokens: 1, cacheSalt }, signal);
      return finish?.usage?.cachedTokens;
    };
    await ask("doctor-a");
    const own = await ask("doctor-a");
    const others = await ask("doctor-b");
    if (own === undefined || others === undefined || own < ids.length / 2) {
      return notApplicable("It caches nothing, or does not say so.");
    }
    // The common beginning of all prompts may be shared, so it proves no caching.
    if (others < ids.length / 2) {
      return ok(`${own} of ${ids.length} tokens for the same tenant, ${others} for another.`);
    }
    return {
      verdict: "degraded",
      came: `${others} of ${ids.length} tokens of another tenant's prompt were cached.`,
      change:
        "vLLM (cache_salt) and SGLang (extra_key) keep them apart; else one server per tenant.",
    };
  },
};

/** A prompt that differs from all earlier ones from its first message on. */
function longPrompt({ contextLength }: Examination, purpose: string): number[] | undefined {
  const words = `${purpose} ${Math.random().toString(36).slice(2)} `;
  const most = Math.min(CACHED_TOKENS, Math.floor((contextLength ?? Infinity) * 0.75));
  const filler = `${words}The tide comes and goes, and the harbour keeps its count. `;
  let question = filler;
  let ids = conversation(question, FINAL);
  const once = ids.length - conversation("", FINAL).length;
  question = filler.repeat(Math.max(1, Math.floor((most - ids.length) / Math.max(1, once))));
  ids = conversation(question, FINAL);
  return ids.length < 256 ? undefined : ids;
}

export const SLOT_CHECKS: readonly Check[] = [ABORT, PREFIX_CACHE, LOOP_CACHE, CACHE_ISOLATION];
