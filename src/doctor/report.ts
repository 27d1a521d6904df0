/** The doctor's report for people: as lines for a terminal, and as a section of a page. */
import { type DoctorReport, toCommand } from "./doctor.ts";
import type { CheckResult, Verdict } from "./finding.ts";

/** Colours a verdict, or returns it unchanged. */
export type PaintVerdict = (verdict: Verdict, text: string) => string;

const WORDS: Readonly<Record<Verdict, string>> = {
  ok: "ok",
  degraded: "degraded",
  broken: "broken",
  "not-applicable": "-",
};

const WIDTH = "degraded  ".length;

/** A check as lines: its question, its result, and the advice if a change is needed. */
export function toLines(result: CheckResult, paint: PaintVerdict): string {
  const { verdict, title, id, asked, came, means, change } = result;
  const head = `${paint(verdict, WORDS[verdict].padEnd(WIDTH))}${title} (${id})`;
  const line = (name: string, text: string) => `${" ".repeat(WIDTH)}${name.padEnd(8)}${text}`;
  if (verdict === "not-applicable") return `${head}\n${line("why not", came)}`;
  const needsAction = verdict === "degraded" || verdict === "broken";
  return [
    head,
    line("asked", asked),
    line("came", came),
    ...(needsAction ? [line("means", means)] : []),
    ...(needsAction && change !== undefined ? [line("change", change)] : []),
  ].join("\n");
}

export function toHead({ engine, url, model, description }: DoctorReport): string {
  const where = url === undefined ? "" : ` at ${url}`;
  return `${description ?? engine}${where}, model ${model}`;
}

/** The lines after the checks. */
export function toClosing(report: DoctorReport, paint: PaintVerdict): string {
  const { verdict, summary, settings, seconds } = report;
  return [
    `${paint(verdict, WORDS[verdict].padEnd(WIDTH))}${summary}`,
    "",
    `Settings: ${toCommand(settings)}`,
    `It took ${seconds} s.`,
  ].join("\n");
}

/** The report as a section of a page. Durations are left out, because they differ between runs. */
export function toMarkdown(report: DoctorReport): string {
  const rows = report.checks.map(({ title, verdict, came }) =>
    [title, WORDS[verdict], came].map(toCell),
  );
  const changes = report.checks
    .filter(({ verdict, change }) => change !== undefined && verdict !== "not-applicable")
    .map(({ title, means, change }) => `- **${toCell(title)}.** ${means} ${change ?? ""}`);
  return [
    `### ${toHead(report)}`,
    "",
    `**${report.verdict}**: ${report.summary}`,
    "",
    "| check | verdict | what came |",
    "| --- | --- | --- |",
    ...rows.map((cells) => `| ${cells.join(" | ")} |`),
    ...(changes.length > 0 ? ["", ...changes] : []),
    "",
    `Settings: \`${toCommand(report.settings)}\``,
    "",
  ].join("\n");
}

/** Escapes a cell: a bar ends it, also within code; a bracket begins a tag, but not within code. */
function toCell(text: string): string {
  const escaped = text
    .split("`")
    .map((part, index) => (index % 2 === 0 ? part.replaceAll("<", "\\<") : part))
    .join("`");
  return escaped.replaceAll("|", "\\|");
}
