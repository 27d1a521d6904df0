/** The page of the recorded results of judges and clients. */
import { countMatrix } from "../../matrix/sections.ts";
import { readClientResults, toReasoningText } from "../client-results.ts";
import type { Expectation, Expectations } from "./expectation.ts";
import type { Judge } from "./judge.ts";
import { MENDED } from "./mended.ts";

export function toPage(judges: readonly Judge[], expected: Expectations): string {
  const rows = judges.flatMap((judge) => {
    const said = expected[judge.name];
    return said === undefined ? [] : [toRow(judge, said)];
  });
  return `# Judges and clients

Suites and clients of others, unmodified, in front of the gateway: how many checks passed, and whose fault each failure is. The model is scripted, or the
[demo engine](../engines.md): nothing here says how well gpt-oss works. Rerun it: [proof/real](../../proof/real/README.md), \`node proof/matrix/run.ts\`.

## Judges

Suites that others wrote, over the demo engine, beside a scripted vision model: \`node proof/real/judges/run.ts --write\`.
\`proof/real/judges/expected.json\` names each failed check, with its reason. A run fails if any check fails that has no reason there, if one of those passes, or if a judge checks nothing.

| judge | version | date | judges | passed | failed | skipped |
| --- | --- | --- | --- | ---: | ---: | ---: |
${rows.join("\n")}

Skipped are checks of what a model or an API does not have, or that its judge could not decide: a demo engine calls one tool at a time. Of Inspect and promptfoo,
only the program is another's: the questions are ours.

Not run: newer revisions of Open Responses' suite, whose repository could not be reached.

## Failures, and whose fault they are

| judge | checks | reason | fault |
| --- | ---: | --- | --- |
${judges.flatMap((judge) => toReasons(judge, expected[judge.name])).join("\n")}

## Clients

Programs and packages that work through tasks in front of a scripted model: three calls or more in a loop, over each API that they have. A run in which any
check fails, or that checks nothing, fails. "Reasoning kept: 9 of 9" counts thoughts that the prompts should have contained, and did.

| client | date | passed | failed | reasoning kept | what was checked |
| --- | --- | ---: | ---: | --- | --- |
${toClientRows().join("\n")}

## Failures of clients that are mended

| client | what failed | fault | now |
| --- | --- | --- | --- |
${MENDED.map(({ client, failed, fault, since }) => `| ${client} | ${failed} | ${fault} | ${since} |`).join("\n")}
`;
}

function toRow({ title, url, judges }: Judge, said: Expectation): string {
  const { version, date, passed, failed, skipped } = said;
  const name = url === undefined ? title : `[${title}](${url})`;
  return `| ${name} | ${version} | ${date} | ${judges} | ${passed} | ${failed} | ${skipped} |`;
}

function toReasons({ title }: Judge, said: Expectation | undefined): string[] {
  return (said?.failures ?? []).map(
    ({ checks, reason, fault }) => `| ${title} | ${checks.length} | ${reason} | ${fault} |`,
  );
}

function toClientRows(): string[] {
  const agents = countMatrix().map((counts) => ({ ...counts, seen: "[matrix.md](matrix.md)" }));
  const programs = Object.entries(readClientResults()).map(([script, result]) => ({
    client: result.client,
    date: result.date,
    passed: result.passed.length,
    failed: result.failed.length,
    reasoning: toReasoningText(result),
    seen: `[${pageOf(script)}](${pageOf(script)}): \`${script}\``,
  }));
  return [...agents, ...programs].map(
    ({ client, date, passed, failed, reasoning, seen }) =>
      `| ${client} | ${date} | ${passed} | ${failed} | ${reasoning} | ${seen} |`,
  );
}

/** The page that names the checks of a program. */
function pageOf(script: string): string {
  if (script.startsWith("python/")) return "python.md";
  return script.includes("/") ? "sdks.md" : "../clients.md";
}
