/**
 * Keywords that need no other schema: types, bounds, lengths, formats, patterns, comparisons. Each function returns the
 * first problem it finds.
 */
import { toCanonicalForm } from "./canonical.ts";
import { isMultipleOf } from "./multiple.ts";
import type { SchemaNode } from "./node.ts";
import { matchPattern } from "./pattern.ts";
import { absent, type Problem, problem } from "./problem.ts";
import { quote } from "./schema-error.ts";
import type { Sliced, Work } from "./work.ts";

/** A JSON object. */
export type Members = Readonly<Record<string, unknown>>;

export function findWrongValue(node: SchemaNode, value: unknown, work: Work): Problem | undefined {
  const { types } = node;
  if (types && !types.some((type) => isOfType(value, type))) {
    return problem("type", () => `must be ${types.join(" or ")}, not ${typeName(value)}`);
  }
  if (typeof value === "number") return findWrongNumber(node, value);
  if (typeof value === "string") return findWrongString(node, value, work);
  return undefined;
}

function findWrongNumber(node: SchemaNode, value: number): Problem | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = node;
  if (minimum !== undefined && value < minimum) {
    return problem("minimum", () => `must be at least ${minimum}, not ${value}`);
  }
  if (maximum !== undefined && value > maximum) {
    return problem("maximum", () => `must be at most ${maximum}, not ${value}`);
  }
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) {
    return problem("exclusiveMinimum", () => `must be more than ${exclusiveMinimum}, not ${value}`);
  }
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) {
    return problem("exclusiveMaximum", () => `must be less than ${exclusiveMaximum}, not ${value}`);
  }
  if (multipleOf !== undefined && !isMultipleOf(value, multipleOf)) {
    return problem("multipleOf", () => `must be a multiple of ${multipleOf}, not ${value}`);
  }
  return undefined;
}

function findWrongString(node: SchemaNode, text: string, work: Work): Problem | undefined {
  const { minLength, maxLength, format } = node;
  if (minLength !== undefined || maxLength !== undefined) {
    work.spend(text.length >> 5);
    const length = countCodePoints(text);
    if (minLength !== undefined && length < minLength) {
      return problem(
        "minLength",
        () => `must have at least ${minLength} characters, not ${length}`,
      );
    }
    if (maxLength !== undefined && length > maxLength) {
      return problem("maxLength", () => `must have at most ${maxLength} characters, not ${length}`);
    }
  }
  if (!format) return undefined;
  work.spend(text.length >> 2);
  if (format.matches(text)) return undefined;
  return problem("format", () => `must be of the format ${format.name}, not ${quote(text)}`);
}

/** Checks comparisons with a list or a pattern, which may take long. */
export function* findUnequal(
  { allowed, pattern }: SchemaNode,
  value: unknown,
  work: Work,
): Sliced<Problem | undefined> {
  if (allowed && !allowed.forms.has(yield* toCanonicalForm(value, work))) {
    const { keyword, shown } = allowed;
    return problem(keyword, () =>
      keyword === "const" ? `must be ${shown}` : `must be one of ${shown}`,
    );
  }
  if (!pattern || typeof value !== "string") return undefined;
  if (yield* matchPattern(pattern, value, work)) return undefined;
  return problem("pattern", () => `must match the pattern ${pattern.source.slice(0, 500)}`);
}

/** Finds missing properties, and too few or too many. `size`: the number of members. */
export function findMissing(
  node: SchemaNode,
  value: Members,
  size: number,
  work: Work,
): Problem | undefined {
  const { minProperties, maxProperties, required = [], dependentRequired } = node;
  work.spend(required.length);
  const missing = required.filter((key) => !Object.hasOwn(value, key));
  if (missing.length > 0) return absent(missing, "");
  for (const [key, needed] of dependentRequired ?? []) {
    work.spend(1);
    if (!Object.hasOwn(value, key)) continue;
    work.spend(needed.length);
    const absentOnes = needed.filter((each) => !Object.hasOwn(value, each));
    if (absentOnes.length > 0) return absent(absentOnes, `, needed because of ${quote(key)}`);
  }
  if (minProperties !== undefined && size < minProperties) {
    return problem(
      "minProperties",
      () => `must have at least ${minProperties} properties, not ${size}`,
    );
  }
  if (maxProperties !== undefined && size > maxProperties) {
    return problem(
      "maxProperties",
      () => `must have at most ${maxProperties} properties, not ${size}`,
    );
  }
  return undefined;
}

/** Finds too few or too many items. */
export function findWrongLength(
  { minItems, maxItems }: SchemaNode,
  length: number,
): Problem | undefined {
  if (minItems !== undefined && length < minItems) {
    return problem("minItems", () => `must have at least ${minItems} items, not ${length}`);
  }
  if (maxItems !== undefined && length > maxItems) {
    return problem("maxItems", () => `must have at most ${maxItems} items, not ${length}`);
  }
  return undefined;
}

/** Finds equal items. */
export function* findRepeated(value: readonly unknown[], work: Work): Sliced<Problem | undefined> {
  const seen = new Map<string, number>();
  for (const [index, item] of value.entries()) {
    work.spend(2);
    if (work.due) yield;
    const form = yield* toCanonicalForm(item, work);
    const first = seen.get(form);
    if (first !== undefined) {
      return problem("uniqueItems", () => `must not repeat items: ${first} and ${index} are equal`);
    }
    seen.set(form, index);
  }
  return undefined;
}

function isOfType(value: unknown, type: string): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "number") return typeof value === "number";
  return typeName(value) === type;
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  return isArray(value) ? "array" : typeof value;
}

export function isArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function countCodePoints(text: string): number {
  let count = text.length;
  for (let at = 0; at < text.length - 1; at++) {
    const isHigh = (text.charCodeAt(at) & 0xfc00) === 0xd800;
    if (!isHigh || (text.charCodeAt(at + 1) & 0xfc00) !== 0xdc00) continue;
    count--;
    at++;
  }
  return count;
}
