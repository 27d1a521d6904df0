/**
 * `node proof/bench/compare.ts`: builds of the gateway side by side in one run, on the same engine and over the same windows.
 *
 *     node proof/bench/compare.ts main                            the checkout and that commit
 *     node proof/bench/compare.ts v0.1.0 main --scenario paced-64 several commits, one scenario
 *     node proof/bench/compare.ts main --wire responses           through the Responses API
 *
 * Fails (exit code 1) if the checkout surely loses more than `--max-loss` per cent of CPU or time: if the whole 95 %
 * interval of the ratio lies beyond it.
 */
import { fileURLToPath } from "node:url";
import { parseCompareArguments } from "./compare/arguments.ts";
import { buildCheckout, Builds } from "./compare/builds.ts";
import { describeLoss, findLosses, HEAD, PIPE, toTables } from "./compare/verdict.ts";
import { CONTENDERS, gateway } from "./streaming/contenders.ts";
import { runStreaming } from "./streaming/suite.ts";

const { commits, scenarios, wire, maxLoss, ...effort } = parseCompareArguments(
  process.argv.slice(2),
);
const onProgress = (line: string) => void process.stderr.write(`${line}\n`);

const checkout = fileURLToPath(new URL("../../", import.meta.url));
const builds = new Builds(checkout);
onProgress("building");
const bases = commits.map((commit) => builds.build(commit));
const head = buildCheckout(checkout);

const results = await runStreaming({
  ...effort,
  windowMs: 3000,
  settleMs: 1000,
  sameWindowMs: 800,
  asks: 1000,
  warmUpRequests: 10_000,
  enginePort: 0,
  onProgress,
  scenarios,
  contenders: [
    gateway(HEAD, wire, head.folder),
    ...bases.map(({ name, folder }) => gateway(name, wire, folder)),
    ...CONTENDERS.filter(({ name }) => name === PIPE),
  ],
});
const names = bases.map(({ name }) => name);
process.stdout.write(`${toTables(results, scenarios, [HEAD, ...names, PIPE])}\n`);

const losses = findLosses(results, scenarios, names, maxLoss);
for (const loss of losses) console.log(`Loses more than ${maxLoss * 100} %: ${describeLoss(loss)}`);
if (losses.length === 0) console.log(`Nothing surely loses more than ${maxLoss * 100} %.`);
process.exit(losses.length === 0 ? 0 : 1);
