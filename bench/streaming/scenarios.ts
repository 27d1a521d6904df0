/** The scenarios: what is measured for each contender, a round at a time. */
import { setTimeout as sleep } from "node:timers/promises";
import { rssKib } from "../child.ts";
import type { Running } from "./contenders.ts";
import { createHistory, createRequest } from "./requests.ts";
import type { Rig } from "./rig.ts";

/** Numbers of one round, by name. NaN: not measurable for this contender. */
export type Numbers = Readonly<Record<string, number>>;

export interface Scenario {
  readonly name: string;
  readonly title: string;
  /** The unit of each number, and with it the order of the columns. */
  readonly columns: Readonly<Record<string, string>>;
  /** Needs a fresh process: for memory. */
  readonly fresh?: boolean;
  /** Left out with `--quick`. */
  readonly slow?: boolean;
  run(rig: Rig, running: Running, effort: Effort): Promise<Numbers>;
}

/** Duration of a measurement. */
export interface Effort {
  readonly windowMs: number;
  readonly settleMs: number;
  readonly asks: number;
}

const PACED = { mode: "paced", shape: "loop", tokens: 10_000, tokensPerSecond: 50 } as const;

export const SCENARIOS: readonly Scenario[] = [
  {
    name: "bulk",
    title: "Bulk: 4 streams at full speed, answers of 20,000 tokens",
    columns: {
      cpuPerToken: "µs CPU / token",
      tokensPerSecond: "tokens / s",
      bytesPerToken: "B / token",
    },
    async run(rig, running, { windowMs, settleMs }) {
      await rig.script({ mode: "bulk", shape: "loop", tokens: 20_000 });
      return perToken(await flow(rig, running, 4, windowMs, settleMs));
    },
  },
  paced("paced-1", 1, "spread", "One stream × 50 tokens/s", true),
  paced("paced-64", 64, "step", "64 streams × 50 tokens/s, in lockstep"),
  paced("paced-256", 256, "step", "256 streams × 50 tokens/s, in lockstep"),
  {
    name: "paced-1000",
    title: "1,000 streams × 10 tokens/s, in lockstep",
    columns: { cpuPerToken: "µs CPU / token" },
    slow: true,
    async run(rig, running, { windowMs, settleMs }) {
      await rig.script({ ...PACED, tokensPerSecond: 10, phase: "step" });
      return perToken(await flow(rig, running, 1000, windowMs, 1000 + settleMs));
    },
  },
  {
    name: "latency",
    title:
      "Latency from the engine's write to the client's read, 64 streams × 50 tokens/s, staggered",
    columns: { p50: "p50 ms", p99: "p99 ms", gap50: "between tokens p50 ms", gap99: "p99 ms " },
    async run(rig, running, { windowMs, settleMs }) {
      await rig.script({ ...PACED, phase: "spread" });
      const { latencyMs, gapMs } = await flow(rig, running, 64, windowMs, settleMs, true);
      return { p50: latencyMs.p50, p99: latencyMs.p99, gap50: gapMs.p50, gap99: gapMs.p99 };
    },
  },
  {
    name: "first-token",
    title: "A short request alone, an answer of 8 tokens",
    columns: { first: "first token, p50 ms", first99: "p99 ms", whole: "whole answer, p50 ms" },
    async run(rig, running, { asks }) {
      await rig.script({ mode: "bulk", shape: "answer", tokens: 4 });
      const request = createRequest(running.contender.wire);
      const { firstMs, wholeMs } = await rig.ask(
        running,
        Array.from({ length: asks }, () => request),
      );
      return { first: firstMs.p50, first99: firstMs.p99, whole: wholeMs.p50 };
    },
  },
  {
    name: "first-token-400k",
    slow: true,
    title: "The same with a conversation of 400 KB whose beginning is cached",
    columns: { first: "first token, p50 ms", whole: "whole answer, p50 ms" },
    async run(rig, running, { asks }) {
      await rig.script({ mode: "bulk", shape: "answer", tokens: 4 });
      const requests = Array.from({ length: Math.ceil(asks / 5) }, (_, turn) => {
        const earlier = createHistory(400_000, 7);
        const latest = { role: "user" as const, content: `And what of turn ${turn}? `.repeat(40) };
        return createRequest(running.contender.wire, [...earlier, latest]);
      });
      const { firstMs, wholeMs } = await rig.ask(running, requests);
      return { first: firstMs.p50, whole: wholeMs.p50 };
    },
  },
  {
    name: "requests",
    title: "Short requests, 64 at a time, answers of 8 tokens",
    columns: { perSecond: "requests / s", cpuPerRequest: "µs CPU / request" },
    async run(rig, running, { windowMs, settleMs }) {
      await rig.script({ mode: "bulk", shape: "answer", tokens: 4 });
      const { answers, ms, cpuMs } = await flow(rig, running, 64, windowMs, settleMs);
      return { perSecond: (answers / ms) * 1000, cpuPerRequest: (cpuMs / answers) * 1000 };
    },
  },
  {
    name: "leaving",
    slow: true,
    title: "64 clients that disconnect in the middle of their answers",
    columns: { stillOpen: "streams the engine still sends after 0.5 s" },
    async run(rig, running) {
      await rig.script({ ...PACED, phase: "spread" });
      await rig.open(running, 64);
      await sleep(300);
      await rig.close();
      await sleep(500);
      return { stillOpen: (await rig.stats()).openStreams };
    },
  },
  {
    name: "open",
    title: "Memory of 1,000 open streams, one token a second each",
    // The first streams also pay for the heap's young generation, up to 48 MB once.
    columns: {
      rssPerStream: "KB / stream",
      rssPerFurther: "of 1,000 more",
      rss: "MB before",
    },
    fresh: true,
    slow: true,
    async run(rig, running, { settleMs }) {
      if (running.pid === undefined) return {};
      // After a warm-up the heap has not grown yet; in a grown heap the streams would fit without growth.
      await rig.script({ mode: "bulk", shape: "answer", tokens: 4 });
      const request = createRequest(running.contender.wire);
      await rig.ask(
        running,
        Array.from({ length: 50 }, () => request),
      );
      const before = rssKib(running.pid);
      await rig.script({ ...PACED, tokensPerSecond: 1, phase: "spread" });
      const openMore = async (pid: number): Promise<number> => {
        await rig.open(running, 1000, { ramp: 20 });
        await sleep(1000 + 3 * settleMs);
        return rssKib(pid);
      };
      const first = await openMore(running.pid);
      const second = await openMore(running.pid);
      await rig.close();
      return {
        rssPerStream: (first - before) / 1000,
        rssPerFurther: (second - first) / 1000,
        rss: before / 1024,
      };
    },
  },
  {
    name: "slow-readers",
    title: "50 clients that read 1 KB/s of an endless answer from an engine at full speed",
    columns: {
      grown20: "MB added after 20 s",
      grown40: "after 40 s",
      engineMb: "MB read from the engine",
      lastMb: "in the last 5 s",
    },
    fresh: true,
    slow: true,
    async run(rig, running) {
      const { pid } = running;
      if (pid === undefined) return {};
      await rig.script({ mode: "endless", shape: "loop", tokens: 50_000 });
      const look = async () => ({ rss: rssKib(pid), tokens: (await rig.stats()).tokens });
      const before = await look();
      await rig.open(running, 50, { bytesPerSecond: 1024 });
      await sleep(20_000);
      const at20 = await look();
      await sleep(15_000);
      const at35 = await look();
      await sleep(5000);
      const at40 = await look();
      await rig.close();
      return {
        grown20: (at20.rss - before.rss) / 1024,
        grown40: (at40.rss - before.rss) / 1024,
        engineMb: ((at40.tokens - before.tokens) * EVENT_BYTES) / 1e6,
        lastMb: ((at40.tokens - at35.tokens) * EVENT_BYTES) / 1e6,
      };
    },
  },
];

/** Approximate bytes of a token's event in the engine's format. */
const EVENT_BYTES = 260;

function paced(
  name: string,
  streams: number,
  phase: "step" | "spread",
  title: string,
  slow = false,
): Scenario {
  return {
    name,
    title,
    slow,
    columns: { cpuPerToken: "µs CPU / token" },
    async run(rig, running, { windowMs, settleMs }) {
      await rig.script({ ...PACED, phase });
      return perToken(await flow(rig, running, streams, windowMs, settleMs));
    },
  };
}

async function flow(
  rig: Rig,
  running: Running,
  streams: number,
  windowMs: number,
  settleMs: number,
  readsWords = false,
) {
  await rig.open(running, streams, { readsWords, ramp: 100 });
  const window = await rig.watch(running, windowMs, settleMs);
  await rig.close();
  return window;
}

function perToken({ cpuMs, tokens, ms, bytes }: Awaited<ReturnType<typeof flow>>): Numbers {
  return {
    cpuPerToken: (cpuMs / tokens) * 1000,
    tokensPerSecond: (tokens / ms) * 1000,
    bytesPerToken: bytes / tokens,
  };
}
