/** The streaming suite: every contender on the same engine, in turn, several times. */
import { setTimeout as sleep } from "node:timers/promises";
import { toMeasured, type Measured } from "../statistics.ts";
import { type Contender, type Running, startContender } from "./contenders.ts";
import { Rig } from "./rig.ts";
import type { Effort, Numbers, Scenario } from "./scenarios.ts";

export interface StreamingOptions extends Effort {
  readonly rounds: number;
  readonly contenders: readonly Contender[];
  readonly scenarios: readonly Scenario[];
  readonly enginePort: number;
  readonly onProgress: (line: string) => void;
}

/** Scenario → contender → number → what was measured. */
export type StreamingResults = Record<string, Record<string, Record<string, Measured>>>;

export async function runStreaming(options: StreamingOptions): Promise<StreamingResults> {
  const rig = await Rig.start(options.enginePort);
  const running: Running[] = [];
  try {
    for (const contender of options.contenders) {
      running.push(await startContender(contender, rig.enginePort));
    }
    const results: StreamingResults = {};
    for (const scenario of options.scenarios) {
      results[scenario.name] = await measure(rig, running, scenario, options);
    }
    return results;
  } finally {
    await Promise.all(running.map((each) => each.stop()));
    await rig.stop();
  }
}

/** Interleaved (A B C, A B C, …), so that a disturbance affects all of them. The first round is not counted. */
async function measure(
  rig: Rig,
  running: readonly Running[],
  scenario: Scenario,
  options: StreamingOptions,
): Promise<Record<string, Record<string, Measured>>> {
  const rounds = new Map<string, Numbers[]>(running.map(({ contender }) => [contender.name, []]));
  const warmUps = scenario.fresh ? 0 : 1;
  for (let round = -warmUps; round < options.rounds; round++) {
    for (const each of running) {
      const numbers = await once(rig, each, scenario, round < 0 ? shorten(options) : options);
      if (round >= 0) rounds.get(each.contender.name)?.push(numbers);
      options.onProgress(`${scenario.name} ${round + 1}/${options.rounds} ${each.contender.name}`);
    }
  }
  return Object.fromEntries(
    [...rounds].map(([name, all]) => [
      name,
      Object.fromEntries(
        Object.keys(scenario.columns).map((column) => [
          column,
          toMeasured(all.map((numbers) => numbers[column] ?? NaN)),
        ]),
      ),
    ]),
  );
}

async function once(
  rig: Rig,
  running: Running,
  scenario: Scenario,
  effort: Effort,
): Promise<Numbers> {
  const fresh = scenario.fresh
    ? await startContender(running.contender, rig.enginePort)
    : undefined;
  try {
    return await scenario.run(rig, fresh ?? running, effort);
  } catch (error) {
    throw new Error(`${scenario.name}, ${running.contender.name}`, { cause: error });
  } finally {
    await fresh?.stop();
    // Waits until aborted streams are closed before the next contender.
    await sleep(100);
  }
}

function shorten({ windowMs, settleMs, asks }: Effort): Effort {
  return { windowMs: windowMs / 3, settleMs: settleMs / 2, asks: Math.ceil(asks / 3) };
}
