/** Measurements without sockets, each in a separate process, several times. */
import { startHelper } from "../child.ts";
import { toMeasured, type Measured } from "../statistics.ts";
import type { TurnNumbers } from "./turns.ts";

export interface InnerOptions {
  readonly rounds: number;
  /** Passes within a round. */
  readonly passes: number;
  readonly onProgress: (line: string) => void;
}

export interface InnerResults {
  /** Like {@link TurnNumbers}, a row for each size. */
  readonly conversations: readonly Row[];
}

export type Row = Readonly<Record<string, Measured>>;

export async function runInner(options: InnerOptions): Promise<InnerResults> {
  const turns: (readonly TurnNumbers[])[] = [];
  for (let round = 0; round < options.rounds; round++) {
    options.onProgress(`turns ${round + 1}/${options.rounds}`);
    turns.push(await tell("./turns.ts", options.passes));
  }
  return { conversations: combineRows(turns) };
}

async function tell(module: string, passes: number): Promise<any> {
  const helper = await startHelper(new URL(module, import.meta.url), {
    args: [String(passes)],
    greets: true,
  });
  await helper.stop();
  return helper.greeting;
}

function combineRows(rounds: readonly (readonly TurnNumbers[])[]): Row[] {
  return (rounds[0] ?? []).map((_, row) => combine(rounds.map((round) => ({ ...round[row] }))));
}

function combine(rounds: readonly Readonly<Record<string, number>>[]): Row {
  return Object.fromEntries(
    Object.keys(rounds[0] ?? {}).map((column) => [
      column,
      toMeasured(rounds.map((round) => round[column] ?? NaN)),
    ]),
  );
}
