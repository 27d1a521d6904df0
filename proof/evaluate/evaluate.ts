/** Plays every case with every seed on every arm. */
import { ARMS, type Arm, openArm } from "./arms.ts";
import type { Judge } from "./judge.ts";
import { ask, type Endpoint, type Played, playCase, type Sampling } from "./play.ts";
import type { Case } from "./suite.ts";

interface EvaluateOptions extends Sampling {
  /** The engine's address, without `/v1`. */
  readonly engine: string;
  readonly model: string;
  readonly key?: string | undefined;
  readonly cases: readonly Case[];
  readonly seeds: number;
  readonly concurrency: number;
  /** Default: all. */
  readonly arms?: readonly Arm[];
  readonly judge: Judge;
  readonly onProgress?: (arm: string, done: number, all: number) => void;
}

export interface ArmResult {
  readonly arm: Arm;
  /** Why it was not played. */
  readonly skipped?: string;
  readonly played: readonly Played[];
  readonly repairs: Readonly<Record<string, number>>;
}

export async function evaluate(options: EvaluateOptions): Promise<ArmResult[]> {
  const results: ArmResult[] = [];
  for (const arm of options.arms ?? ARMS) results.push(await playArm(arm, options));
  return results;
}

async function playArm(arm: Arm, options: EvaluateOptions): Promise<ArmResult> {
  const open = await openArm(arm, options.engine, options);
  try {
    if (!(await hasEffect(arm, open, options))) {
      const skipped = "no function of these cases is one that it changes";
      return { arm, skipped, played: [], repairs: {} };
    }
    const played = await playAll(arm, open, options);
    return { arm, played, repairs: await open.repairs() };
  } finally {
    await open.close();
  }
}

async function hasEffect({ proves }: Arm, open: Endpoint, options: EvaluateOptions) {
  const [first] = options.cases;
  if (proves === undefined || first === undefined) return true;
  const { turns, functions } = first;
  const sampling = { ...options, seed: 1, maxTokens: 1 };
  const { headers } = await ask(open, turns[0] ?? [], functions.at(-1) ?? [], sampling);
  return (headers.get(proves) ?? "none") !== "none";
}

async function playAll(arm: Arm, open: Endpoint, options: EvaluateOptions): Promise<Played[]> {
  const { cases, seeds, concurrency, onProgress } = options;
  const seedList = Array.from({ length: seeds }, (_, index) => index + 1);
  const plays = cases.flatMap((each) => seedList.map((seed) => ({ each, seed })));
  const played: Played[] = [];
  const queue = plays.values();
  const work = async () => {
    for (const { each, seed } of queue) {
      const run = `${arm.name}_${seed}`.replaceAll(/\W/g, "_");
      played.push(await playCase(open, each, { ...options, seed, run }));
      onProgress?.(arm.name, played.length, plays.length);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return played.toSorted((a, b) => a.id.localeCompare(b.id) || a.seed - b.seed);
}
