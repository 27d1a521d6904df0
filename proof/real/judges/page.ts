/** The page that shows what the judges said, from what was recorded. */
import type { Expectation, Expectations } from "./expectation.ts";
import type { Judge } from "./judge.ts";

export function toPage(judges: readonly Judge[], expected: Expectations): string {
  const rows = judges.flatMap((judge) => {
    const said = expected[judge.name];
    return said === undefined ? [] : [toRow(judge, said)];
  });
  return `# What other people's suites say

Written by \`node proof/real/judges/run.ts --write\`: suites that others wrote, unmodified, against the gateway over its [demo
engine](../engines.md). \`proof/real/judges/expected.json\` names each failed check, with its reason. A run fails if any check fails that has no reason
there, if one of those passes, or if a judge checks nothing. Clients that were run: [matrix](matrix.md), [Python](python.md), [Go, Rust, Java](sdks.md).

| judge | version | date | judges | passed | failed | skipped |
| --- | --- | --- | --- | ---: | ---: | ---: |
${rows.join("\n")}

## Failures, and whose fault they are

| judge | checks | reason | fault |
| --- | ---: | --- | --- |
${judges.flatMap((judge) => toReasons(judge, expected[judge.name])).join("\n")}

Skipped are checks of what a model or an API does not have, or that its judge could not decide: a demo engine calls one tool at a time.

Not run: newer revisions of Open Responses' suite, whose repository could not be reached.
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
