/** The streaming suite: every contender on the same engine, at once or in turn. */
import { setTimeout as sleep } from "node:timers/promises";
import { toMeasured, type Measured } from "../statistics.ts";
import { type Contender, type Running, startContender } from "./contenders.ts";
import { Rig } from "./rig.ts";
import type { Effort, InTurn, Numbers, SameWindows, Scenario } from "./scenario.ts";

export interface StreamingOptions extends Effort {
  readonly rounds: number;
  readonly contenders: readonly Contender[];
  readonly scenarios: readonly Scenario[];
  readonly enginePort: number;
  readonly onProgress: (line: string) => void;
}

/** Scenario → contender → name of the number → measured value. */
export type StreamingResults = Record<string, Record<string, Record<string, Measured>>>;

/**
 * Each round has fresh processes, since two processes of one build differ by their compiled code. Contenders that are
 * measured in turn are so in those of the last round.
 */
export async function runStreaming(options: StreamingOptions): Promise<StreamingResults> {
  const { contenders, scenarios, rounds, onProgress } = options;
  const rig = await Rig.start(options.enginePort);
  const windows = new Map<SameWindows, Map<string, Numbers[]>>();
  const inTurn: StreamingResults = {};
  try {
    for (let round = 0; round < rounds; round++) {
      // Another one is started first each time.
      const order = [...contenders.slice(round % contenders.length), ...contenders].slice(
        0,
        contenders.length,
      );
      await withRunning(rig, order, async (running) => {
        for (const scenario of scenarios) {
          if (scenario.kind === "same-windows") {
            onProgress(`${scenario.name}, processes ${round + 1}/${rounds}`);
            const sofar = windows.get(scenario) ?? new Map<string, Numbers[]>();
            windows.set(scenario, sofar);
            for (const group of toGroups(running, scenario)) {
              for (const [name, numbers] of await measureAtOnce(rig, group, scenario, options)) {
                sofar.set(name, [...(sofar.get(name) ?? []), ...numbers]);
              }
            }
          } else if (round === rounds - 1) {
            const together = running.filter(({ contender }) => contender.apart === undefined);
            inTurn[scenario.name] = await measureInTurn(rig, together, scenario, options);
          }
        }
      });
    }
  } finally {
    await rig.stop();
  }
  const atOnce = [...windows].map(([scenario, measured]) => [
    scenario.name,
    toResults(scenario, contenders, measured, options.windows),
  ]);
  return { ...Object.fromEntries(atOnce), ...inTurn };
}

async function withRunning(
  rig: Rig,
  contenders: readonly Contender[],
  measure: (running: readonly Running[]) => Promise<void>,
): Promise<void> {
  const running: Running[] = [];
  try {
    for (const contender of contenders) {
      // A contender that is started here gets a separate port of the engine, by which its tokens are counted.
      const port = contender.start === undefined ? rig.enginePort : await rig.listen();
      running.push(await startContender(contender, port));
    }
    await measure(running);
  } finally {
    await Promise.all(running.map((each) => each.stop()));
  }
}

/** The contenders that are measured together, and then each that is measured separately. */
function toGroups(running: readonly Running[], { name }: Scenario): Running[][] {
  const together = running.filter(({ contender }) => contender.apart === undefined);
  const apart = running.filter(({ contender }) => contender.apart?.includes(name));
  return [together, ...apart.map((each) => [each])].filter((group) => group.length > 0);
}

type ByContender = Record<string, Record<string, Measured>>;

async function measureAtOnce(
  rig: Rig,
  running: readonly Running[],
  scenario: SameWindows,
  effort: Effort,
): Promise<Map<string, Numbers[]>> {
  try {
    const measured = await scenario.run(rig, running, toEffort(effort, running));
    return new Map(running.map(({ contender }, at) => [contender.name, measured[at] ?? []]));
  } catch (error) {
    throw new Error(scenario.name, { cause: error });
  } finally {
    // Waits until aborted streams are closed before the next scenario.
    await sleep(100);
  }
}

/** Interleaved (A B C, A B C, …), so that a disturbance affects all of them. The first round is not counted. */
async function measureInTurn(
  rig: Rig,
  running: readonly Running[],
  scenario: InTurn,
  options: StreamingOptions,
): Promise<ByContender> {
  const contenders = running.map(({ contender }) => contender);
  const rounds = new Map<string, Numbers[]>(contenders.map(({ name }) => [name, []]));
  const warmUps = scenario.fresh ? 0 : 1;
  for (let round = -warmUps; round < options.rounds; round++) {
    for (const each of running) {
      const numbers = await once(
        rig,
        each,
        scenario,
        round < 0 ? toWarmUp(options, scenario) : options,
      );
      if (round >= 0) rounds.get(each.contender.name)?.push(numbers);
      options.onProgress(`${scenario.name} ${round + 1}/${options.rounds} ${each.contender.name}`);
    }
  }
  return toResults(scenario, contenders, rounds, 1);
}

/** Results in the contenders' order; contenders without numbers are left out. */
function toResults(
  scenario: Scenario,
  contenders: readonly Contender[],
  measured: ReadonlyMap<string, readonly Numbers[]>,
  perProcess: number,
): ByContender {
  return Object.fromEntries(
    contenders.flatMap(({ name }) => {
      const all = measured.get(name) ?? [];
      return all.length === 0 ? [] : [[name, summarize(scenario, all, perProcess)]];
    }),
  );
}

function summarize(
  scenario: Scenario,
  all: readonly Numbers[],
  perProcess: number,
): Record<string, Measured> {
  return Object.fromEntries(
    Object.keys(scenario.columns).map((column) => [
      column,
      toMeasured(
        all.map((numbers) => numbers[column] ?? NaN),
        perProcess,
      ),
    ]),
  );
}

async function once(
  rig: Rig,
  running: Running,
  scenario: InTurn,
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

/**
 * A contender measured separately takes seconds for a batch of requests, and its compiler does not work for thousands
 * of them.
 */
function toEffort(effort: Effort, [first]: readonly Running[]): Effort {
  return first?.contender.apart === undefined ? effort : { ...effort, warmUpRequests: 1 };
}

function toWarmUp(effort: Effort, { warmUp = 0.5 }: InTurn): Effort {
  return {
    ...effort,
    windowMs: effort.windowMs / 3,
    settleMs: effort.settleMs * warmUp,
    asks: Math.ceil(effort.asks / 3),
  };
}
