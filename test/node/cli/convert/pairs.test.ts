import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createRenderer } from "../../../../src/harmony/index.ts";
import { convertLine, type ConvertOptions } from "../../../../src/node/cli/convert/convert-line.ts";
import { LineError } from "../../../../src/node/cli/convert/transcript.ts";
import { readRenderCases, toConversation } from "../../../harmony/render-cases.ts";

const renderer = createRenderer();
const defaults: Omit<ConvertOptions, "from" | "to"> = {
  mode: "history",
  mask: undefined,
  maskAs: "both",
  lenient: false,
  strict: false,
  system: {
    identity: "You are ChatGPT, a large language model trained by OpenAI.",
    knowledgeCutoff: "2024-06",
    date: "2025-06-28",
  },
  renderer,
};

/** Every golden conversation as a line of ids. */
const golden = readRenderCases("harmony-render.jsonl").flatMap((line) => {
  if (line.expected_error !== undefined) return [];
  const { ids } = renderer.renderConversation(toConversation(line.conversationText));
  return [{ id: line.id, line: JSON.stringify({ input_ids: ids }) }];
});

interface Outcome {
  readonly line: string;
  readonly losses: readonly string[];
  readonly refused?: string;
}

type Step = Pick<ConvertOptions, "from" | "to">;

/** Runs these conversions in sequence, until one refuses. */
function through(line: string, steps: readonly Step[]): Outcome {
  let current = line;
  const losses: string[] = [];
  for (const step of steps) {
    try {
      const written = convertLine(current, { ...defaults, ...step });
      current = written.line;
      losses.push(...written.losses);
    } catch (error) {
      if (error instanceof LineError) return { line: current, losses, refused: error.code };
      throw error;
    }
  }
  return { line: current, losses };
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
  const outcomes = golden.map(({ id, line }) => {
    const start: Step[] = [{ from: "harmony", to: from }];
    const steps: Step[] = [...start, { from, to }, { from: to, to: "ids" }];
    return { id, original: line, ...through(line, steps) };
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
