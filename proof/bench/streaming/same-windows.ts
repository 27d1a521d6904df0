/** The scenarios in which all contenders are measured at once, over the same windows. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Running } from "./contenders.ts";
import type { Rig, Snapshot } from "./rig.ts";
import type { Effort, Numbers, SameWindows } from "./scenario.ts";
import type { Script } from "./upstream.ts";

const BULK_TOKENS = 20_000;
const CLIENTS = 64;
const SHORT_ANSWER: Script = { mode: "bulk", shape: "answer", tokens: 4 };

export const SAME_WINDOWS: readonly SameWindows[] = [
  // First, because each round has new processes.
  {
    kind: "same-windows",
    name: "requests-at-start",
    title: "Short requests, 64 at a time, in the first seconds of a process",
    columns: { cpuPerRequest: "µs CPU / request", perSecond: "requests / s" },
    compared: ["cpuPerRequest"],
    slow: true,
    run: (rig, all, effort) => measureRequests(rig, all, { ...effort, warmUpRequests: 0 }, CLIENTS),
  },
  {
    kind: "same-windows",
    name: "bulk",
    title: "Bulk: 4 streams at full speed, answers of 20,000 tokens",
    columns: { cpuPerToken: "µs CPU / token", tokensPerSecond: "tokens / s" },
    compared: ["cpuPerToken"],
    // In batches, which end: the tokens under way in full sockets would be more than a window's.
    run: (rig, all, effort) =>
      alternate(rig, all, effort, {
        script: { mode: "bulk", shape: "loop", tokens: BULK_TOKENS },
        clients: 4,
      }),
  },
  paced("paced-1", 1, 50, { slow: true }),
  paced("paced-64", 64, 50),
  paced("paced-64-at-20", 64, 20, { slow: true }),
  // The rate of tokens is the maximum of the slowest contender.
  paced("paced-64-at-10", 64, 10),
  {
    ...paced("paced-64-at-start", 64, 50, { slow: true, warmUp: 0 }),
    title: "64 streams × 50 tokens/s, in the first seconds of a process",
  },
  // Fewer tokens a second with more streams: the streams of all contenders are open at once.
  paced("paced-256", 256, 10),
  paced("paced-1000", 1000, 2, { slow: true }),
  {
    kind: "same-windows",
    name: "first-token",
    title: "A short request alone, an answer of 8 tokens",
    columns: {
      first: "first token, p50 ms",
      first99: "p99 ms",
      whole: "whole answer, p50 ms",
      cpuPerRequest: "µs CPU / request",
    },
    compared: ["first", "cpuPerRequest"],
    run: (rig, all, effort) => measureRequests(rig, all, effort, 1),
  },
  {
    kind: "same-windows",
    name: "requests",
    title: "Short requests, 64 at a time, answers of 8 tokens",
    columns: { cpuPerRequest: "µs CPU / request", perSecond: "requests / s" },
    compared: ["cpuPerRequest"],
    run: (rig, all, effort) => measureRequests(rig, all, effort, CLIENTS),
  },
];

/**
 * The cost of a short request falls during the first ten thousand requests of a process, while the compiler works on
 * code with many parts: it is 1.5 times as high after two seconds as after twelve.
 */
async function measureRequests(
  rig: Rig,
  all: readonly Running[],
  effort: Effort,
  clients: number,
): Promise<Numbers[][]> {
  if (effort.warmUpRequests > 0) {
    await rig.script(SHORT_ANSWER);
    await rig.connect(all, CLIENTS, false);
    await rig.warmUp(effort.warmUpRequests);
    await rig.close();
  }
  return alternate(rig, all, effort, { script: SHORT_ANSWER, clients });
}

/**
 * `count` streams of each contender at once. Contenders whose process cannot be measured are left out.
 *
 * @param warmUp how many times `settleMs` the streams flow first: a process's first 30,000 tokens cost more, and the costlier
 * the more code has to be compiled.
 */
function paced(
  name: string,
  count: number,
  tokensPerSecond: number,
  { slow = false, warmUp = 12 } = {},
): SameWindows {
  const noun = count === 1 ? "stream" : "streams";
  return {
    kind: "same-windows",
    name,
    title: `${count.toLocaleString("en")} ${noun} × ${tokensPerSecond} tokens/s, in lockstep`,
    slow,
    columns: { cpuPerToken: "µs CPU / token", bytesPerToken: "B / token" },
    compared: ["cpuPerToken"],
    async run(rig, all, { windows, sameWindowMs, settleMs }) {
      const measurable = all.filter(({ pid }) => pid !== undefined);
      await rig.script({
        mode: "paced",
        shape: "loop",
        tokens: 10_000,
        tokensPerSecond,
        phase: "step",
      });
      for (const running of measurable) await rig.open(running, count, { ramp: 100 });
      await sleep((3 + warmUp) * settleMs);
      const snapshots = [await rig.snapshot(measurable)];
      for (let window = 0; window < windows; window++) {
        await sleep(sameWindowMs);
        snapshots.push(await rig.snapshot(measurable));
      }
      await rig.close();
      return all.map((running) => {
        const at = measurable.indexOf(running);
        return at === -1 ? [] : betweenAll(snapshots.map((each) => each[at])).map(perToken);
      });
    },
  };
}

/** Batches of `clients` requests to one contender after the other, in each window as many to each. */
async function alternate(
  rig: Rig,
  all: readonly Running[],
  { windows, sameWindowMs, settleMs }: Effort,
  { script, clients }: { readonly script: Script; readonly clients: number },
): Promise<Numbers[][]> {
  await rig.script(script);
  // The first token is measured of requests that are alone: to read words costs the load generator time.
  await rig.connect(all, clients, clients === 1);
  await rig.alternate(3 * settleMs);
  const measured: Numbers[][] = all.map(() => []);
  let before = await rig.snapshot(all);
  for (let window = 0; window < windows; window++) {
    const times = await rig.alternate(sameWindowMs);
    const after = await rig.snapshot(all);
    for (const [at, { answers, busyMs, firstMs, wholeMs }] of times.entries()) {
      const usedMs = (after[at]?.cpuMs ?? NaN) - (before[at]?.cpuMs ?? NaN);
      measured[at]?.push({
        first: firstMs.p50,
        first99: firstMs.p99,
        whole: wholeMs.p50,
        cpuPerRequest: (usedMs / answers) * 1000,
        cpuPerToken: (usedMs / answers / script.tokens) * 1000,
        perSecond: (answers / busyMs) * 1000,
        tokensPerSecond: ((answers * script.tokens) / busyMs) * 1000,
      });
    }
    before = after;
  }
  await rig.close();
  return measured;
}

/**
 * A contender that falls behind uses CPU for tokens of another window. If nothing was received, its CPU gives no cost
 * per token.
 */
function perToken({ cpuMs, tokens, bytes }: Snapshot): Numbers {
  return {
    cpuPerToken: bytes === 0 ? NaN : (cpuMs / tokens) * 1000,
    bytesPerToken: bytes / tokens,
  };
}

/** The difference of each window, from the snapshots between windows. */
function betweenAll(moments: readonly (Snapshot | undefined)[]): Snapshot[] {
  return moments.slice(1).flatMap((after, window) => {
    const before = moments[window];
    if (before === undefined || after === undefined) return [];
    return [
      {
        cpuMs: after.cpuMs - before.cpuMs,
        tokens: after.tokens - before.tokens,
        bytes: after.bytes - before.bytes,
      },
    ];
  });
}
