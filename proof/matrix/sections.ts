/** The sections of `docs/evidence/matrix.md`: one for each client, written by `proof/matrix/run.ts`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export const MATRIX_PAGE = join(import.meta.dirname, "../../docs/evidence/matrix.md");

/** The numbers of a section. */
interface MatrixCounts {
  /** The client, with its version. */
  readonly client: string;
  readonly date: string;
  /** For instance `9 of 9`. */
  readonly reasoning: string;
  readonly passed: number;
  readonly failed: number;
}

/** Sections by the client's name, which precedes the version. */
export function readSections(): Map<string, string> {
  const texts = readFileSync(MATRIX_PAGE, "utf8")
    .split(/^(?=## )/m)
    .slice(1);
  return new Map(
    texts.map((section) => [/^## (.*) \S+$/m.exec(section)?.[1] ?? "", section.trim()]),
  );
}

export function countMatrix(): MatrixCounts[] {
  return Array.from(readSections().values(), (section) => ({
    client: /^## (.*)$/m.exec(section)?.[1] ?? "",
    date: /^Run on ([\d-]+)\./m.exec(section)?.[1] ?? "",
    reasoning: /Reasoning kept: (\d+ of \d+)\./.exec(section)?.[1] ?? "",
    passed: section.match(/^- passed: /gm)?.length ?? 0,
    failed: section.match(/^- \*\*failed\*\*: /gm)?.length ?? 0,
  }));
}
