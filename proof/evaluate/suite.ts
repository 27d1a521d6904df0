/** Reads the multi-turn cases of BFCL from the user's download. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";

export interface Case {
  readonly id: string;
  /** The line of the file, which BFCL's own code reads. */
  readonly entry: string;
  /** The user's messages, by turn. */
  readonly turns: readonly (readonly object[])[];
  /** The calls that lead to the right state, by turn. */
  readonly truth: readonly (readonly string[])[];
  /** The functions that are offered, by turn. */
  readonly functions: readonly (readonly OfferedFunction[])[];
}

const definition = z.object({ name: z.string(), description: z.string(), parameters: z.unknown() });
type OfferedFunction = z.infer<typeof definition>;

const entry = z.looseObject({
  id: z.string(),
  question: z.array(z.array(z.looseObject({}))),
  involved_classes: z.array(z.string()),
  excluded_function: z.array(z.string()).default([]),
  /** By the turn that brings them. */
  missed_function: z.record(z.string(), z.array(z.string())).default({}),
});
type Entry = z.infer<typeof entry>;
const answers = z.object({ id: z.string(), ground_truth: z.array(z.array(z.string())) });

/** BFCL's sentence where the functions come that were missing. */
const MORE = "I have updated some more functions you can choose from. What about now?";

/** @param documents by class: the file of its functions' definitions */
export function readSuite(
  folder: string,
  category: string,
  documents: Readonly<Record<string, string>>,
): { readonly cases: readonly Case[]; readonly sha256: string } {
  const read = (...path: string[]) => readFileSync(join(folder, "bfcl_eval/data", ...path), "utf8");
  const file = `BFCL_v4_multi_turn_${category}.json`;
  const [questions, truths] = [read(file), read("possible_answer", file)];
  const truthOf = new Map(parseLines(truths, answers).map((each) => [each.id, each.ground_truth]));
  const byClass = new Map<string, OfferedFunction[]>();
  const functionsOf = (name: string): OfferedFunction[] => {
    const known = byClass.get(name);
    if (known !== undefined) return known;
    const text = read("multi_turn_func_doc", documents[name] ?? `${name}.json`);
    const own = parseLines(text, definition).map(({ parameters, ...rest }) => ({
      ...rest,
      parameters: toJsonSchema(parameters),
    }));
    byClass.set(name, own);
    return own;
  };
  const cases = toLines(questions).map((line): Case => {
    const each = entry.parse(JSON.parse(line));
    const { id, question, involved_classes: classes } = each;
    const all = classes.flatMap(functionsOf);
    return {
      id,
      entry: line,
      turns: question.map((said) => (said.length > 0 ? said : [{ role: "user", content: MORE }])),
      truth: truthOf.get(id) ?? [],
      functions: question.map((_, turn) => all.filter(({ name }) => isOffered(name, turn, each))),
    };
  });
  const sha256 = createHash("sha256").update(questions).update(truths).digest("hex");
  return { cases, sha256 };
}

function isOffered(name: string, turn: number, { missed_function, excluded_function }: Entry) {
  const from = Object.entries(missed_function).find(([, names]) => names.includes(name))?.[0];
  return from === undefined ? !excluded_function.includes(name) : turn >= Number(from);
}

function parseLines<T>(text: string, schema: z.ZodType<T>): T[] {
  return toLines(text).map((line) => schema.parse(JSON.parse(line)));
}

function toLines(text: string): string[] {
  return text.split("\n").filter((line) => line.trim() !== "");
}

/** BFCL names some types as Python does. */
const TYPES = new Map([
  ["dict", "object"],
  ["float", "number"],
]);

function toJsonSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map((each) => toJsonSchema(each));
  if (typeof schema !== "object" || schema === null) return schema;
  const members = Object.entries(schema).map(([key, value]) => [
    key,
    key === "type" && typeof value === "string" ? (TYPES.get(value) ?? value) : toJsonSchema(value),
  ]);
  return Object.fromEntries(members);
}
