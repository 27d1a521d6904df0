import { describe, expect, test } from "vitest";
import { floodSockets } from "../../proof/chaos/frames-phase.ts";
import { runClocks } from "../../proof/chaos/clocks-phase.ts";
import { FAULTS, runRedisLies } from "../../proof/chaos/redis-lies-phase.ts";
import { onStage } from "../../proof/chaos/phase.ts";
import { runStoreKill } from "../../proof/chaos/store-kill-phase.ts";
import { runPrograms } from "../../proof/chaos/programs-phase.ts";
import { PHASES, UNHURRIED } from "../../proof/chaos/phases.ts";
import { createRandom } from "../../proof/fuzz/random.ts";

/** Durations depend on other load on the machine: `npm run chaos` checks them, the tests do not. */
function isTimed(violation: string): boolean {
  return violation.startsWith("the event loop was held");
}

describe("a phase of chaos, `npm run chaos` has all of them", () => {
  test.each(["calm"])("%s", async (name) => {
    const phase = PHASES.find((each) => each.name === name);
    const { outcomes, violations } = (await phase?.run(createRandom(1))) ?? {};
    expect(violations?.filter((violation) => !isTimed(violation))).toEqual([]);
    expect(outcomes?.length).toBeGreaterThan(0);
  });

  test("frames, few of each kind", async () => {
    const { violations } = await onStage({ engines: 1, settings: UNHURRIED }, (stage) =>
      floodSockets(stage, createRandom(1), { frames: 3000, handshakes: 200 }),
    );
    expect(violations.filter((violation) => !isTimed(violation))).toEqual([]);
  });

  test("redis-lies, with some of its faults", async () => {
    const names = new Set(["surplus nil", "writes refused: OOM", "nested arrays"]);
    const faults = FAULTS.filter(({ name }) => names.has(name));
    const { violations } = await runRedisLies(createRandom(1), faults);
    expect(violations.filter((violation) => !isTimed(violation))).toEqual([]);
  });

  test("clocks, with some of its jumps", async () => {
    const jumps = [120_000, -86_400_000];
    const { violations } = await runClocks(createRandom(1), { jumps, words: 100 });
    expect(violations.filter((violation) => !isTimed(violation))).toEqual([]);
  });

  test("store-kill, with a single kill, and nothing in the background", async () => {
    const kinds = ["plain", "stream", "conversation"] as const;
    const { violations, note } = await runStoreKill(createRandom(1), { kills: 1, kinds });
    expect(violations.filter((violation) => !isTimed(violation))).toEqual([]);
    expect(note).toMatch(/^1 kills, [01] of both, \d+ acknowledged and read: /);
  });

  test("a few programs that flood and fork, and a few clients", async () => {
    const report = await runPrograms(createRandom(1), { programs: 3, clients: 6 });
    expect(report.violations.filter((violation) => !isTimed(violation))).toEqual([]);
    expect(report.note).toMatch(/^9 processes, none left/);
  });

  test("violations are reported: a cut answer, and a wrong one", async () => {
    const { violations } = await onStage({ engines: 1, settings: UNHURRIED }, async (stage) => {
      // The client expects two words more than the engine writes.
      await stage.ask("chat", "a", "words 10 ", 12);
      const cut = await stage.ask("chat-stream", "b", "fault cut ");
      stage.expect(cut.end === "complete", `it was ${cut.end}`);
      return undefined;
    });
    expect(violations.filter((violation) => !isTimed(violation))).toEqual([
      "it was reported",
      expect.stringMatching(/^defect: chat 200 /),
    ]);
  });
});
