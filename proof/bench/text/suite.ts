/** The encoding suite: every encoder in a separate process, in turn, several times. */
import { startHelper } from "../child.ts";
import { toMeasured, type Measured } from "../statistics.ts";
import type { ColdStart } from "./cold-start.ts";
import { availableEncoders } from "./encoders.ts";
import type { EncoderNumbers } from "./measure-encoder.ts";

export interface TextOptions {
  readonly rounds: number;
  readonly onProgress: (line: string) => void;
}

/** Each by encoder, then by corpus or kind. */
export interface TextResults {
  readonly unseen: Table;
  readonly repeated: Table;
  readonly worst: Table;
  readonly worst100Kb: Table;
  readonly growth: Readonly<Record<string, readonly Measured[]>>;
  readonly coldStart: Table;
}

export type Table = Readonly<Record<string, Readonly<Record<string, Measured>>>>;

export async function runText({ rounds, onProgress }: TextOptions): Promise<TextResults> {
  const numbers: Record<string, EncoderNumbers[]> = {};
  const starts: Record<string, ColdStart[]> = {};
  for (let round = 0; round < rounds; round++) {
    for (const name of availableEncoders()) {
      onProgress(`encoders ${round + 1}/${rounds} ${name}`);
      (numbers[name] ??= []).push(await tell("./measure-encoder.ts", name));
      for (let i = 0; i < 3; i++) {
        (starts[name] ??= []).push(await tell("./cold-start.ts", name));
      }
    }
  }
  return {
    unseen: toTable(numbers, (each) => each.unseen),
    repeated: toTable(numbers, (each) => each.repeated),
    worst: toTable(numbers, (each) => each.worst),
    worst100Kb: toTable(numbers, (each) => each.worst100Kb),
    growth: toGrowth(numbers["own"] ?? []),
    coldStart: toTable(starts, (each) => ({ ...each })),
  };
}

async function tell(module: string, encoder: string): Promise<any> {
  const helper = await startHelper(new URL(module, import.meta.url), {
    args: [encoder],
    nodeFlags: ["--expose-gc"],
    greets: true,
  });
  await helper.stop();
  return helper.greeting;
}

function toTable<T>(
  rounds: Readonly<Record<string, readonly T[]>>,
  pick: (round: T) => Readonly<Record<string, number>>,
): Table {
  return Object.fromEntries(
    Object.entries(rounds).map(([encoder, all]) => {
      const columns = Object.keys(all[0] === undefined ? {} : pick(all[0]));
      return [
        encoder,
        Object.fromEntries(
          columns.map((column) => [
            column,
            toMeasured(all.map((each) => pick(each)[column] ?? NaN)),
          ]),
        ),
      ];
    }),
  );
}

function toGrowth(rounds: readonly EncoderNumbers[]): Record<string, Measured[]> {
  return Object.fromEntries(
    Object.entries(rounds[0]?.growth ?? {}).map(([kind, times]) => [
      kind,
      times.map((_, at) => toMeasured(rounds.map((round) => round.growth[kind]?.[at] ?? NaN))),
    ]),
  );
}
