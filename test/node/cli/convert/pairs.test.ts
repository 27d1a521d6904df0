import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { beforeAll, describe, expect, test } from "vitest";
import { createRenderer } from "../../../../src/harmony/index.ts";
import { readRenderCases, toConversation } from "../../../harmony/render-cases.ts";
import { runCommand } from "../../../helpers/command-io.ts";

const renderer = createRenderer();

/** Every golden conversation as a line of ids. */
const golden = readRenderCases("harmony-render.jsonl").flatMap((line) => {
  if (line.expected_error !== undefined) return [];
  const { ids } = renderer.renderConversation(toConversation(line.conversationText));
  return [{ id: line.id, line: JSON.stringify({ input_ids: ids }) }];
});

interface Outcome {
  readonly id: string;
  readonly original: string;
  line: string;
  readonly losses: string[];
  refused?: string;
}

type Step = readonly [from: string, to: string];

const folder = mkdtempSync(join(tmpdir(), "pairs-"));

/** The JSON lines of a file. */
function readLines(file: string): { line: number; code: string; losses: string[] }[] {
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line));
}

/** Converts the lines that were not refused before. */
async function convert(outcomes: readonly Outcome[], [from, to]: Step): Promise<void> {
  const given = outcomes.filter(({ refused }) => refused === undefined);
  const [bad, losses] = [join(folder, "bad"), join(folder, "losses")];
  let written = "";
  const output = new Writable({
    write(chunk, _, done) {
      written += String(chunk);
      done();
    },
  });
  const flags = ["--mode", "history", "--date", "2025-06-28", "--bad", bad, "--losses", losses];
  await runCommand(["convert", "--from", from, "--to", to, ...flags], {
    stdin: Readable.from([Buffer.from(given.map(({ line }) => line).join("\n"))]),
    openOutput: () => output,
    environment: { HARMONY_GATEWAY_LAYOUT: "reference" },
  });
  for (const each of readLines(bad)) {
    const outcome = given[each.line - 1];
    if (outcome) outcome.refused = each.code;
  }
  for (const each of readLines(losses)) given[each.line - 1]?.losses.push(...each.losses);
  const lines = written.split("\n");
  for (const outcome of given) {
    if (outcome.refused === undefined) outcome.line = lines.shift() ?? "";
  }
}

const FORMATS = ["harmony", "openchatml", "chat"] as const;
const pairs = FORMATS.flatMap((from) => FORMATS.map((to) => [from, to] as const));

/** Bodies of several parts, each of which was encoded alone: the same text in other ids. */
const SEVERAL_PARTS = new Set(["hr-0158", "hr-0170"]);

/** The losses that `docs/formats.md` lists. */
const documented = new Set(
  [...readFileSync("docs/formats.md", "utf8").matchAll(/`([a-z][\w.-]*|E-[A-Z-]+)`/g)].map(
    ([, name = ""]) => name.replace(/^header\..*/, "header."),
  ),
);
const isDocumented = (name: string) => documented.has(name.replace(/^header\..*/, "header."));

test("the file has the expected number of conversations", () => {
  expect(golden.length).toBe(230);
});

/** Number of conversations whose ids all come back, and of those that are refused on the way. */
const COUNTS: Record<string, { readonly same: number; readonly refused: number }> = {
  "harmony harmony": { same: 222, refused: 0 },
  "harmony openchatml": { same: 206, refused: 6 },
  "harmony chat": { same: 18, refused: 0 },
  "openchatml harmony": { same: 212, refused: 6 },
  "openchatml openchatml": { same: 218, refused: 6 },
  "openchatml chat": { same: 24, refused: 6 },
  "chat harmony": { same: 18, refused: 0 },
  "chat openchatml": { same: 18, refused: 7 },
  "chat chat": { same: 19, refused: 0 },
};

describe.each(pairs)("from %s to %s, and back to ids", (from, to) => {
  const outcomes = golden.map(({ id, line }): Outcome => {
    return { id, original: line, line, losses: [] };
  });

  beforeAll(async () => {
    const steps: Step[] = [
      ["harmony", from],
      [from, to],
      [to, "ids"],
    ];
    for (const step of steps) await convert(outcomes, step);
  });

  test("only documented losses occur", () => {
    const names = outcomes.flatMap(({ losses, refused }) => [
      ...losses,
      ...(refused ? [refused] : []),
    ]);
    expect([...new Set(names)].filter((name) => !isDocumented(name))).toEqual([]);
  });

  test("losses are reported: all other conversations have the same ids", () => {
    const changed = outcomes.filter(
      ({ id, line, original, losses, refused }) =>
        refused === undefined &&
        !SEVERAL_PARTS.has(id) &&
        losses.filter((loss) => loss !== "parts" && loss !== "call-id").length === 0 &&
        line !== original,
    );
    expect(changed.map(({ id }) => id)).toEqual([]);
  });

  test("the expected number is recovered completely", () => {
    expect({
      same: outcomes.filter(({ line, original }) => line === original).length,
      refused: outcomes.filter(({ refused }) => refused !== undefined).length,
    }).toEqual(COUNTS[`${from} ${to}`]);
  });
});
