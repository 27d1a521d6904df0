/** The scorecard as a Markdown table. */
import type { CorpusLine } from "./corpus.ts";
import type { Verdict } from "./judge.ts";

export interface Score {
  readonly target: string;
  /** One for each case, streamed and not. */
  readonly verdicts: readonly { readonly kind: CorpusLine["kind"]; readonly verdict: Verdict }[];
}

export function printScores(
  scores: readonly Score[],
  kinds: readonly CorpusLine["kind"][],
): string {
  const shown = kinds.filter((kind) =>
    scores.some((score) => score.verdicts.some((each) => each.kind === kind)),
  );
  const rows = [
    ["", ...scores.map(({ target }) => target)],
    ["---", ...scores.map(() => "---")],
    ["answered rightly", ...scores.map(({ verdicts }) => share(verdicts, "right"))],
    ...shown.map((kind) => [
      `– ${kind}s`,
      ...scores.map(({ verdicts }) =>
        share(
          verdicts.filter((each) => each.kind === kind),
          "right",
        ),
      ),
    ]),
    ["wrong without an error", ...scores.map(({ verdicts }) => count(verdicts, "silent"))],
    ["leaks", ...scores.map(({ verdicts }) => count(verdicts, "leaks"))],
    ["5xx or a broken stream", ...scores.map(({ verdicts }) => count(verdicts, "fails"))],
    ["reasoning reached the client", ...scores.map(({ verdicts }) => share(verdicts, "reasoning"))],
    [
      "reasoning carried to the next call",
      ...scores.map(({ verdicts }) => share(verdicts, "carried")),
    ],
    ["the prompt says what happened", ...scores.map(({ verdicts }) => share(verdicts, "told"))],
    ["control tokens injected", ...scores.map(({ verdicts }) => count(verdicts, "injected"))],
  ];
  return rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

type Verdicts = Score["verdicts"];

function known(verdicts: Verdicts, name: keyof Verdict): boolean[] {
  return verdicts.map(({ verdict }) => verdict[name]).filter((each) => each !== undefined);
}

function share(verdicts: Verdicts, name: keyof Verdict): string {
  const found = known(verdicts, name);
  if (found.length === 0) return "–";
  const yes = found.filter(Boolean).length;
  return `${yes} of ${found.length} (${toPercent(found)} %)`;
}

/** The percentage of right answers in the played cases. */
export function rightPercent({ verdicts }: Score): number {
  return toPercent(known(verdicts, "right"));
}

/** The percentage; 100 only if all are true. */
function toPercent(found: readonly boolean[]): number {
  if (found.every(Boolean)) return 100;
  return Math.min(99, Math.round((100 * found.filter(Boolean).length) / found.length));
}

function count(verdicts: Verdicts, name: keyof Verdict): string {
  const found = known(verdicts, name);
  return found.length === 0 ? "–" : `${found.filter(Boolean).length} of ${found.length}`;
}
