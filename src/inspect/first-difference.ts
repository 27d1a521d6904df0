/** Finds the first difference between the outputs of two turns with the same request. */
import { o200kHarmony, type TokenId } from "../tokenizer/index.ts";
import { commonLength } from "../common-length.ts";
import type { TurnRecord } from "../telemetry/record/schema.ts";

export interface Difference {
  /** Whether the ids of their prompts are equal. */
  readonly isSamePrompt: boolean;
  /** Null: their outputs are equal. */
  readonly output: OutputDifference | null;
}

export interface OutputDifference {
  readonly unit: "token" | "character";
  /** Number of the first unit that differs, from 1. */
  readonly at: number;
  /** The text of both outputs from there on. */
  readonly was: string;
  readonly is: string;
}

/** Maximum tokens, and characters, that are shown of each output. */
const SHOWN_TOKENS = 12;
const SHOWN_CHARACTERS = 60;

/** The compared parts of a record. If any of them is incomplete, there is no comparison. */
const COMPARED = new Set(["prompt", "calls", "reads", "parts"]);

/** Undefined: a record lacks some of the compared parts. */
export function firstDifference(before: TurnRecord, after: TurnRecord): Difference | undefined {
  if (!isWhole(before) || !isWhole(after)) return undefined;
  const isSamePrompt = differsAt(promptOf(before), promptOf(after)) === undefined;
  return { isSamePrompt, output: compareOutputs(before, after) };
}

function isWhole({ content, cut }: TurnRecord): boolean {
  return content && !cut.some(({ what }) => COMPARED.has(what));
}

/**
 * Compares the model's outputs, without text that the gateway appended. Engines without ids are compared by the text of the
 * parts.
 */
function compareOutputs(before: TurnRecord, after: TurnRecord): OutputDifference | null {
  const [was, is] = [idsOf(before), idsOf(after)];
  if (was === undefined || is === undefined) return compareTexts(textOf(before), textOf(after));
  const at = differsAt(was, is);
  if (at === undefined) return null;
  const show = (all: readonly TokenId[]) => o200kHarmony().decode(all.slice(at, at + SHOWN_TOKENS));
  return { unit: "token", at: at + 1, was: show(was), is: show(is) };
}

function compareTexts(before: string, after: string): OutputDifference | null {
  const at = differsAt(before, after);
  if (at === undefined) return null;
  const show = (text: string) => text.slice(at, at + SHOWN_CHARACTERS);
  return { unit: "character", at: at + 1, was: show(before), is: show(after) };
}

/** Undefined: an engine returned no ids. */
function idsOf({ calls }: TurnRecord): TokenId[] | undefined {
  const all: TokenId[] = [];
  for (const { reads, used } of calls) {
    let left = used;
    for (const read of reads) {
      if (!("ids" in read) || !Array.isArray(read.ids)) return undefined;
      for (const id of read.ids.slice(0, left)) all.push(id);
      left = Math.max(0, left - read.ids.length);
    }
  }
  return all;
}

function textOf({ parts }: TurnRecord): string {
  return parts
    .filter(({ kind }) => kind !== "tool-result")
    .map(({ kind, name = "", text }) => `${kind} ${name} ${typeof text === "string" ? text : ""}`)
    .join("\n");
}

function promptOf({ prompt }: TurnRecord): readonly TokenId[] {
  return Array.isArray(prompt?.ids) ? prompt.ids : [];
}

/** Undefined: both lists are equal. */
function differsAt<T>(a: ArrayLike<T>, b: ArrayLike<T>): number | undefined {
  const at = commonLength(a, b);
  return at === a.length && at === b.length ? undefined : at;
}
