/** Writes a run into docs/evidence/comparison.md, and its figures into docs/figures.json and the pages that quote them. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { type Figure, readFigures } from "../../../scripts/figures.ts";
import { writeFormatted, writeJson } from "../../../scripts/write-formatted.ts";
import { rightPercent, type Score } from "./table.ts";

const ROOT = join(import.meta.dirname, "../../..");
const PAGE = join(ROOT, "docs/evidence/comparison.md");
const PLACE = /(<!-- scorecard -->\n)[^]*?(\n<!-- \/ -->)/;

interface Run {
  /** vLLM's own endpoint, the gateway over it, llama-server's own endpoint, the gateway over that. */
  readonly scores: readonly Score[];
  readonly table: string;
  readonly cases: number;
}

export function recordScores({ scores, table, cases }: Run): void {
  const page = readFileSync(PAGE, "utf8");
  if (!PLACE.test(page))
    throw new Error("docs/evidence/comparison.md has no place for the scorecard");
  writeFormatted(
    PAGE,
    page.replace(
      PLACE,
      (_, head: string, foot: string) => `${head}\nRun on ${today()}:\n\n${table}\n${foot}`,
    ),
  );

  const [vllm = 0, overVllm = 0, llamaServer = 0, overLlamaServer = 0] = scores.map(rightPercent);
  const percent = (what: string, value: number) =>
    toFigure(`cases answered rightly: ${what}`, `${value} %`);
  const figures: Record<string, Figure> = {
    ...readFigures(ROOT),
    "scorecard-cases": toFigure("cases of the scorecard", `${cases}`),
    "scorecard-gateway": percent("the gateway over either", Math.min(overVllm, overLlamaServer)),
    "scorecard-vllm": percent("vLLM's own endpoint", vllm),
    "scorecard-llama-server": percent("llama-server's own endpoint", llamaServer),
  };
  writeJson("docs/figures.json", figures);
  execFileSync(process.execPath, [join(ROOT, "scripts/write-docs.ts")]);
}

function toFigure(what: string, text: string): Figure {
  const commit = execFileSync("git", ["rev-parse", "--short=7", "HEAD"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  return {
    what,
    text,
    command: "node proof/real/scorecard/run.ts",
    commit: commit.trim(),
    date: today(),
    machine: `${availableParallelism()} cores`,
  };
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}
