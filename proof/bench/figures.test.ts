/** The figures of a run that the docs quote. */
import { expect, test } from "vitest";
import { toFigures } from "./figures.ts";
import { drawSizes } from "./sizes/chart.ts";
import { SERIES, toSizesTable } from "./sizes/table.ts";
import { toMeasured } from "./statistics.ts";
import type { Results } from "./results.ts";

const machine = {
  cpu: "a CPU",
  cores: 2,
  memoryGb: 4,
  kernel: "6",
  node: "v24.0.0",
  commit: "abc1234",
  startedAt: "2026-11-26T03:00:00.000Z",
  loadBefore: 0.04,
};
const source = {
  command: "npm run bench",
  commit: "abc1234",
  date: "2026-11-26",
  machine: "2 cores, a CPU, Node v24.0.0, load before 0.0",
};
const run: Results = { machine, command: "npm run bench", rounds: 1 };
const one = (value: number) => toMeasured([value]);

/** Ten times the tokens cost ten times as much. */
const sizes = [1000, 10_000].flatMap((tokens) =>
  [0, 10, 50, 200].map((tools) => ({
    tokens,
    tools,
    first: one(tokens * (1 + tools)),
    next: one(tokens),
    pipe: one(tokens / 2),
  })),
);

test("a run gives the figures of what it has measured, and no others", () => {
  expect(toFigures(run)).toEqual({});
  const unmeasured = { "paced-64": { gateway: { cpuPerToken: one(NaN) } } };
  expect(toFigures({ ...run, streaming: unmeasured })).toEqual({});
  const requests = {
    gateway: { cpuPerRequest: one(600) },
    "hono-pipe": { cpuPerRequest: one(400) },
  };
  expect(toFigures({ ...run, streaming: { requests } })).toEqual({
    "short-request-cpu": {
      what: "short request, CPU",
      text: "1.50 × hono-pipe",
      ...source,
    },
    "short-request-time": {
      what: "CPU of a short request, 64 at a time",
      text: "600 µs",
      ...source,
    },
  });
});

test("the table of peers needs all of them", () => {
  const names = ["direct", "hono-pipe", "gateway", "portkey", "litellm"];
  const requests = Object.fromEntries(
    names.map((name, at) => [name, { cpuPerRequest: one(100 * at), perSecond: one(10) }]),
  );
  const { litellm, ...without } = requests;
  expect(toFigures({ ...run, streaming: { requests: without } })["peers"]).toBeUndefined();
  expect(toFigures({ ...run, streaming: { requests } })["peers"]).toMatchObject({
    rows: [
      ["direct", "–", "–", "–", "10.0", "0.0000"],
      ["hono-pipe", "–", "–", "–", "10.0", "100"],
      ["gateway", "–", "–", "–", "10.0", "200"],
      ["portkey", "–", "–", "–", "10.0", "300"],
      ["litellm", "–", "–", "–", "10.0", "400"],
    ],
    ...source,
  });
  expect(litellm).toBeDefined();
});

test("the table of sizes has a line for each, in milliseconds", () => {
  const { head, rows } = toSizesTable(sizes);
  expect(head.slice(0, 3)).toEqual(["tokens", "first request, 0 tools", "first request, 10 tools"]);
  expect(rows).toEqual([
    ["1,000", "1.00", "11.0", "51.0", "201", "1.00", "1.00", "1.00", "1.00", "0.500", "0.500"],
    ["10,000", "10.0", "110", "510", "2,010", "10.0", "10.0", "10.0", "10.0", "5.00", "5.00"],
  ]);
});

test("the chart has a line for each column, and twice those of the pipe", () => {
  const chart = drawSizes(toSizesTable(sizes));
  const pipes = SERIES.filter(({ kind }) => kind === "pipe").length;
  expect(chart.match(/<polyline /g)).toHaveLength(SERIES.length + pipes);
  expect(chart).not.toContain("NaN");
  expect(chart).toContain(">hono-pipe, 200 tools</text>");
});
