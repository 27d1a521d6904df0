/** The scenarios, and those in which each contender is measured alone. */
import { setTimeout as sleep } from "node:timers/promises";
import { cpuMs, rssKib } from "../child.ts";
import type { Running } from "./contenders.ts";
import { createHistory, createRequest } from "./requests.ts";
import type { Rig } from "./rig.ts";
import { SAME_WINDOWS } from "./same-windows.ts";
import type { InTurn, Scenario } from "./scenario.ts";

const PACED = { mode: "paced", shape: "loop", tokens: 10_000, tokensPerSecond: 50 } as const;

const LATENCY = {
  kind: "in-turn",
  columns: { p50: "p50 ms", p99: "p99 ms", gap50: "between tokens p50 ms", gap99: "p99 ms " },
  async run(rig, running, { windowMs, settleMs }) {
    await rig.script({ ...PACED, phase: "spread" });
    const { latencyMs, gapMs } = await flow(rig, running, 64, windowMs, settleMs, true);
    return { p50: latencyMs.p50, p99: latencyMs.p99, gap50: gapMs.p50, gap99: gapMs.p99 };
  },
} satisfies Partial<InTurn>;

const IN_TURN: readonly InTurn[] = [
  {
    ...LATENCY,
    name: "latency",
    title:
      "Latency from the engine's write to the client's read, 64 streams × 50 tokens/s, staggered",
    // The compiler takes the cores from a process's tokens for the first dozen seconds of them.
    warmUp: 12,
  },
  {
    ...LATENCY,
    name: "latency-at-start",
    title: "The same latency in the first seconds of a process",
    fresh: true,
    slow: true,
  },
  {
    kind: "in-turn",
    name: "first-token-400k",
    slow: true,
    title: "A request with a conversation of 400 KB whose beginning is cached",
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
    kind: "in-turn",
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
    kind: "in-turn",
    name: "start",
    title: "A start, until it listens",
    columns: { cpu: "ms CPU" },
    fresh: true,
    // A fresh process was found ready just now, by a look every 50 ms.
    run: async (_rig, { pid }) => (pid === undefined ? {} : { cpu: cpuMs(pid) }),
  },
  {
    kind: "in-turn",
    name: "open",
    title: "Memory of 1,000 open streams, one token a second each",
    // The first streams also pay for the heap's young generation, up to 48 MB once.
    columns: {
      rssPerStream: "KB / stream",
      rssPerFurther: "of 1,000 more",
      rss: "MB before",
    },
    fresh: true,
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
    kind: "in-turn",
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

export const SCENARIOS: readonly Scenario[] = [...SAME_WINDOWS, ...IN_TURN];

/** Approximate bytes of a token's event in the engine's format. */
const EVENT_BYTES = 260;

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
