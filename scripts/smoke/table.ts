/** The table of runtimes and features in the docs, from the results of the trial. */
import { readFileSync } from "node:fs";
import { writeFormatted } from "../write-formatted.ts";

/** Whether each feature works, by runtime and feature. Absent: the feature has no meaning there. */
export type Results = ReadonlyMap<string, ReadonlyMap<string, boolean>>;

const [BEGIN, END] = ["<!-- smoke: begin -->", "<!-- smoke: end -->"];

export function toTable(results: Results): string {
  const runtimes = [...results.keys()];
  const features = [...new Set([...results.values()].flatMap((each) => [...each.keys()]))];
  const rows = features.map((feature) =>
    [feature, ...runtimes.map((runtime) => toCell(results.get(runtime)?.get(feature)))].join(" | "),
  );
  const lines = [
    `feature | ${runtimes.join(" | ")}`,
    `--- | ${runtimes.map(() => "---").join(" | ")}`,
  ];
  return [...lines, ...rows].map((line) => `| ${line} |`).join("\n");
}

function toCell(holds: boolean | undefined): string {
  if (holds === undefined) return "–";
  return holds ? "yes" : "no";
}

/** Replaces the table in a page. */
export function writeTable(path: string, results: Results): void {
  const page = readFileSync(path, "utf8");
  const [before, after] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (before < 0 || after < before) throw new Error(`${path} has no place for the table.`);
  const table = `${BEGIN}\n\n${toTable(results)}\n\n`;
  writeFormatted(path, page.slice(0, before) + table + page.slice(after));
}
