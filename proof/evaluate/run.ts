/**
 * Plays BFCL's multi-turn cases against an engine's own chat endpoint and through the gateway over the same engine.
 *
 *     node proof/evaluate/run.ts --engine http://127.0.0.1:8000 --data FOLDER
 *
 * Prints a table and writes a JSON file. See README.md.
 */
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import * as z from "zod";
import { readVersion } from "../../src/node/version.ts";
import { ARMS } from "./arms.ts";
import { evaluate } from "./evaluate.ts";
import { Judge } from "./judge.ts";
import { readSuite } from "./suite.ts";
import { summarize, toTable } from "./summary.ts";

const { values } = parseArgs({
  options: {
    engine: { type: "string" },
    data: { type: "string" },
    category: { type: "string", default: "base" },
    cases: { type: "string", default: "200" },
    seeds: { type: "string", default: "3" },
    arms: { type: "string", default: ARMS.map(({ name }) => name).join(",") },
    model: { type: "string" },
    effort: { type: "string" },
    "max-tokens": { type: "string", default: "8192" },
    "timeout-s": { type: "string", default: "600" },
    concurrency: { type: "string", default: "8" },
    python: { type: "string", default: "python3" },
    out: { type: "string", default: "evaluation.json" },
  },
});
const { engine, data, category, effort, out } = values;
if (engine === undefined) throw new Error("--engine: the address of the inference server");
if (data === undefined)
  throw new Error("--data: the folder that contains bfcl_eval; README.md says how to get it");
const wanted = values.arms.split(",");
const unknown = wanted.filter((name) => !ARMS.some((arm) => arm.name === name));
if (unknown.length > 0) throw new Error(`--arms: there is no ${unknown.join(", ")}`);
const count = z.coerce.number().int().positive();
const key = process.env["HARMONY_GATEWAY_ENGINE_KEY"];
const url = engine.replace(/\/(?:v1\/?)?$/, "");
const model = values.model ?? (await onlyModel(url));
const judge = new Judge(data, values.python);
try {
  const suite = readSuite(data, category, await judge.documents());
  const options = {
    model,
    seeds: count.parse(values.seeds),
    maxTokens: count.parse(values["max-tokens"]),
    timeoutMs: count.parse(values["timeout-s"]) * 1000,
    concurrency: count.parse(values.concurrency),
    effort,
  };
  const results = await evaluate({
    ...options,
    engine: url,
    key,
    cases: suite.cases.slice(0, count.parse(values.cases)),
    arms: ARMS.filter(({ name }) => wanted.includes(name)),
    judge,
    onProgress: (arm, done, all) => {
      if (process.stderr.isTTY) process.stderr.write(`\r${arm}: ${done} of ${all}   `);
    },
  });
  if (process.stderr.isTTY) process.stderr.write("\n");
  const summaries = summarize(results);
  const report = {
    suite: { category, sha256: suite.sha256 },
    gateway: readVersion(),
    options,
    summaries,
    results,
  };
  await writeFile(out, `${JSON.stringify(report, null, 1)}\n`);
  console.log(`${toTable(summaries)}\n\nEverything is in ${out}.`);
} finally {
  await judge.close();
}

async function onlyModel(server: string): Promise<string> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const response = await fetch(`${server}/v1/models`, { headers });
  const list = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) });
  const names = list.parse(await response.json()).data.map(({ id }) => id);
  const found = names.length === 1 ? names : names.filter((name) => name.includes("gpt-oss"));
  const [name] = found;
  if (name === undefined || found.length > 1)
    throw new Error(`--model: one of ${names.join(", ")}`);
  return name;
}
