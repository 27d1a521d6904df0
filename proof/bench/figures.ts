/** The figures of a run that the docs quote. */
import type { Figures } from "../../scripts/figures.ts";
import { toPeersTable } from "./peers-table.ts";
import type { Results } from "./results.ts";
import { toSizesTable } from "./sizes/table.ts";
import { judge, toText } from "./targets.ts";

/** Figures of the measured suites only. */
export function toFigures(results: Results): Figures {
  const { machine, command, streaming, text, sizes } = results;
  const source = {
    command,
    commit: machine.commit,
    date: machine.startedAt.slice(0, 10),
    machine: `${machine.cores} cores, ${machine.cpu}, Node ${machine.node}, load before ${machine.loadBefore.toFixed(1)}`,
  };
  const judged = judge(results).flatMap(({ path: what, target, measured, met }) => {
    if (measured === undefined) return [];
    const bound = target === undefined ? {} : { bound: target, met };
    return [[toId(what), { what, text: measured, ...bound, ...source }] as const];
  });
  const single = [
    {
      id: "token-cpu",
      what: "CPU of a token, 64 streams of 50 tokens/s",
      value: streaming?.["paced-64"]?.["gateway"]?.["cpuPerToken"]?.median,
      unit: "µs",
    },
    {
      id: "short-request-time",
      what: "CPU of a short request, 64 at a time",
      value: streaming?.["requests"]?.["gateway"]?.["cpuPerRequest"]?.median,
      unit: "µs",
    },
    {
      id: "tokenizer-start",
      what: "from the import to the first ids",
      value: text?.coldStart["own"]?.["readyMs"]?.median,
      unit: "ms",
    },
  ].flatMap(({ id, what, value, unit }) =>
    value === undefined || Number.isNaN(value)
      ? []
      : [[id, { what, text: `${toText(value)} ${unit}`, ...source }] as const],
  );
  const tables = [
    { id: "peers", what: "the gateway beside others", grid: toPeersTable(results) },
    {
      id: "request-cost",
      what: "ms of CPU of a request, by the tokens of its conversation",
      grid: sizes && toSizesTable(sizes),
    },
  ].flatMap(({ id, what, grid }) =>
    grid === undefined ? [] : [[id, { what, ...grid, ...source }] as const],
  );
  return Object.fromEntries([...judged, ...single, ...tables]);
}

function toId(what: string): string {
  return what.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
}
