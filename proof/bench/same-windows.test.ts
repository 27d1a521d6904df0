/** The rig of the streaming bench, with real processes. Nothing here is about how long anything takes. */
import { expect, test } from "vitest";
import { CONTENDERS, startContender } from "./streaming/contenders.ts";
import { Rig } from "./streaming/rig.ts";
import { SAME_WINDOWS } from "./streaming/same-windows.ts";
import { SCENARIOS } from "./streaming/scenarios.ts";
import { runStreaming } from "./streaming/suite.ts";

/** `direct`, and twice the one that starts fastest. */
const contenders = CONTENDERS.flatMap((each) => {
  if (each.name === "direct") return [each];
  return each.name === "http-pipe" ? [each, { ...each, name: "another" }] : [];
});

test("all contenders that can be measured have a number in each window", async () => {
  const { requests, ...paced } = await runStreaming({
    rounds: 1,
    windowMs: 1,
    settleMs: 1,
    asks: 1,
    warmUpRequests: 130,
    windows: 3,
    sameWindowMs: 1,
    enginePort: 0,
    onProgress: () => {},
    contenders,
    scenarios: SAME_WINDOWS.filter(({ name }) => name === "requests" || name === "paced-1"),
  });
  expect(Object.keys(requests ?? {})).toEqual(["direct", "http-pipe", "another"]);
  expect(requests?.["direct"]?.["cpuPerRequest"]?.median).toBeNaN();
  for (const pipe of ["http-pipe", "another"]) {
    expect(requests?.[pipe]?.["cpuPerRequest"]?.rounds).toHaveLength(3);
    // 0 where the kernel counts a process's time in ticks of 10 ms.
    expect(requests?.[pipe]?.["cpuPerRequest"]?.min).toBeGreaterThanOrEqual(0);
    // In windows this short there need not be a token.
    expect(paced["paced-1"]?.[pipe]?.["cpuPerToken"]?.rounds).toHaveLength(3);
  }
  expect(paced["paced-1"]?.["direct"]).toBeUndefined();
});

test("a contender that is measured apart takes part in its own scenarios alone", async () => {
  const pipe = contenders.find(({ name }) => name === "http-pipe");
  if (pipe === undefined) throw new Error("no pipe");
  const measured = await runStreaming({
    rounds: 1,
    windowMs: 1,
    settleMs: 1,
    asks: 1,
    warmUpRequests: 1,
    windows: 2,
    sameWindowMs: 1,
    enginePort: 0,
    onProgress: () => {},
    contenders: [pipe, { ...pipe, name: "slow", apart: ["requests"] }],
    scenarios: SCENARIOS.filter(({ name }) => ["requests", "paced-1", "latency"].includes(name)),
  });
  const names = Object.entries(measured).map(([name, of]) => [name, Object.keys(of)]);
  expect(Object.fromEntries(names)).toEqual({
    requests: ["http-pipe", "slow"],
    "paced-1": ["http-pipe"],
    latency: ["http-pipe"],
  });
  expect(measured["requests"]?.["slow"]?.["cpuPerRequest"]?.rounds).toHaveLength(2);
});

test("contenders get the engine's tokens at the same steps, and requests in equal numbers", async () => {
  const rig = await Rig.start();
  const running = await Promise.all(
    contenders.slice(1).map(async (each) => startContender(each, await rig.listen())),
  );
  try {
    await rig.script({
      mode: "paced",
      shape: "loop",
      tokens: 100_000,
      tokensPerSecond: 200,
      phase: "step",
    });
    for (const each of running) await rig.open(each, 2);
    await expect
      .poll(async () => (await rig.snapshot(running)).every(({ tokens }) => tokens > 50))
      .toBe(true);
    const before = await rig.snapshot(running);
    await expect
      .poll(async () => ((await rig.snapshot(running))[0]?.tokens ?? 0) - (before[0]?.tokens ?? 0))
      .toBeGreaterThan(50);
    const after = await rig.snapshot(running);
    const sent = after.map(({ tokens }, at) => tokens - (before[at]?.tokens ?? NaN));
    expect(new Set(running.map(({ enginePort }) => enginePort)).size).toBe(2);
    expect(sent[0]).toBe(sent[1]);
    for (const { bytes, cpuMs } of after) {
      expect(bytes).toBeGreaterThan(0);
      expect(cpuMs).toBeGreaterThan(0);
    }
    await rig.close();

    await rig.script({ mode: "bulk", shape: "answer", tokens: 4 });
    await rig.connect(running, 3, true);
    const [first, second] = await rig.alternate(20);
    expect(first?.answers).toBe(second?.answers);
    expect((first?.answers ?? NaN) % 3).toBe(0);
    expect(first?.firstMs.p50).toBeGreaterThan(0);
  } finally {
    await rig.close();
    await Promise.all(running.map((each) => each.stop()));
    await rig.stop();
  }
});
