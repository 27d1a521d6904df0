/** Writes `docs/evidence/first-hour.md` from the recordings. */
import type { Recording } from "./record.ts";

export interface PageFacts {
  /** `22 November 2026` */
  readonly date: string;
  /** `v24.21.0` */
  readonly node: string;
  readonly cores: number;
  /** Processes that wanted to run, on average: more than cores make all times longer. */
  readonly load: number;
}

export function toSessionPage(recordings: readonly Recording[], facts: PageFacts): string {
  const { date, node, cores, load } = facts;
  return `# The first hour

Sessions at a terminal and in a browser, recorded by \`node scripts/record-session.ts\` on ${date} with Node ${node.slice(1)}, on ${cores} cores with a load of ${load.toFixed(0)}. Ports were made the usual
ones, keys were left out, and long lines were shortened; the pictures are of the gateway above them. The second and later commands of a block were typed in another terminal. The server at port
8000 speaks vLLM's wire format, with the demo engine behind it; at port 8001 nothing listens, at port 8002 something else,
at ports 8003 and 8004 a scripted vLLM, at port 8005 one that closes connections of plain HTTP, and at port 8006 one that refuses all keys.

${recordings.map((each) => toSection(each)).join("\n")}
Next: [Connect a client](../clients.md), [Deploy](../deploy.md), [Troubleshooting](../troubleshooting.md)
`;
}

function toSection({ scenario, text, seconds }: Recording): string {
  const after =
    scenario.isTimed === true && seconds !== undefined
      ? `\nThe answer was there ${Math.round(seconds)} seconds after the first command.\n`
      : "";
  const pictures = (scenario.pictures ?? []).map(
    ({ text: done, alt, name }) => `\n${done}\n\n![${alt}](../images/${name}.png)\n`,
  );
  const before = scenario.text === undefined ? "" : `${scenario.text}\n\n`;
  return `## ${scenario.title}

${before}<!-- not run: recorded by scripts/record-session.ts -->

\`\`\`text
${text.trimEnd()}
\`\`\`
${after}${pictures.join("")}`;
}

/** The recording for each title. */
export function readSessionPage(page: string): ReadonlyMap<string, string> {
  const sections = page.matchAll(/^## (.*)\n(?:(?!^## )[\s\S])*?^```text\n([\s\S]*?)^```/gm);
  return new Map(Array.from(sections, ([, title = "", text = ""]) => [title, text]));
}

/** The page without the parts that differ between recordings. */
export function withoutTimes(text: string): string {
  return text
    .trimEnd()
    .replaceAll(/\b\d\d:\d\d:\d\d\b/g, "00:00:00")
    .replaceAll(/ *\b\d+(?:\.\d+)? (?:ms|s|tok\/s)\b */g, " 0 ")
    .replaceAll(/"created":\d+/g, '"created":0')
    .replaceAll(/\b(gen|resp|msg|req)-?[-_\w]{12,}/g, "$1");
}
