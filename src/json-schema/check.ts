/**
 * Checks a value against a compiled schema, in slices.
 *
 * If a schema is applied from several places, its result for each value is cached. The work is therefore at most the
 * size of the schema times the size of the value, even if references repeat. That product is counted in steps and
 * limited.
 */
import type { SchemaGraph } from "./compile.ts";
import { type Evaluated, EvaluatedMarks } from "./evaluated-marks.ts";
import type { SchemaNode } from "./node.ts";
import { matchPattern, type Pattern } from "./pattern.ts";
import { closest, type Problem, problem, unexpected, within } from "./problem.ts";
import { isObject } from "./resources.ts";
import { quote } from "./schema-error.ts";
import {
  findMissing,
  findRepeated,
  findUnequal,
  findWrongLength,
  findWrongValue,
  isArray,
  type Members,
} from "./value-keywords.ts";
import { type Sliced, TooMuchWork, type Work } from "./work.ts";

/** Returns undefined if the value satisfies the schema. */
export function* checkValue(
  { root, tracksEvaluated }: SchemaGraph,
  value: unknown,
  work: Work,
): Sliced<Problem | undefined> {
  return (yield* new Check(tracksEvaluated, work).apply(root, value, 0)).problem;
}

interface CheckOutcome {
  readonly problem?: Problem;
  /**
   * Members or items that a schema has evaluated, for `unevaluated…`. Tracked only if the schema uses these
   * keywords.
   */
  readonly evaluated?: Evaluated | undefined;
}

const PASSED: CheckOutcome = {};

/** Limit for nested schema applications, in place and by members. Each takes up to eight stack frames. */
const MAX_NESTING = 300;
/** Minimum cost of applying a schema, including memory. */
const APPLY_STEPS = 20;
const SIMPLE_STEPS = 2;
const REMEMBER_STEPS = 20;

class Check {
  readonly #tracks: boolean;
  readonly #work: Work;
  readonly #known = new Map<SchemaNode, Map<unknown, CheckOutcome>>();

  constructor(tracks: boolean, work: Work) {
    this.#tracks = tracks;
    this.#work = work;
  }

  *apply(node: SchemaNode, value: unknown, nesting: number): Sliced<CheckOutcome> {
    const simple = this.#applySimple(node, value);
    if (simple) return simple;
    if (nesting > MAX_NESTING) throw new TooMuchWork();
    this.#work.spend(APPLY_STEPS);
    if (this.#work.due) yield;
    if (!node.shared) return yield* this.#evaluate(node, value, nesting);
    // Equal strings and numbers share results. Objects and arrays are compared by identity.
    this.#work.spend(REMEMBER_STEPS + (typeof value === "string" ? value.length >> 5 : 0));
    const results = getOrCreate(this.#known, node, () => new Map<unknown, CheckOutcome>());
    const known = results.get(value);
    if (known) return known;
    const outcome = yield* this.#evaluate(node, value, nesting);
    results.set(value, outcome);
    return outcome;
  }

  /** Checks a simple schema without a generator, because most schemas are simple and take most of the time. */
  #applySimple(node: SchemaNode, value: unknown): CheckOutcome | undefined {
    if (!node.isSimple) return undefined;
    this.#work.spend(SIMPLE_STEPS);
    if (node.always === true) return PASSED;
    if (node.always === false) {
      return { problem: problem("false", () => "nothing is allowed here") };
    }
    const wrong = findWrongValue(node, value, this.#work);
    return wrong ? { problem: wrong } : PASSED;
  }

  *#evaluate(node: SchemaNode, value: unknown, nesting: number): Sliced<CheckOutcome> {
    const wrong =
      findWrongValue(node, value, this.#work) ?? (yield* findUnequal(node, value, this.#work));
    if (wrong) return { problem: wrong };
    const marks = new EvaluatedMarks(this.#tracks, this.#work);
    const found =
      (yield* this.#applyInPlace(node, value, marks, nesting + 1)) ??
      (isArray(value)
        ? yield* this.#applyToItems(node, value, marks, nesting + 1)
        : isObject(value)
          ? yield* this.#applyToMembers(node, value, marks, nesting + 1)
          : undefined);
    if (found) return { problem: found };
    return this.#tracks ? { evaluated: marks.evaluated } : PASSED;
  }

  // Keywords applied in place

  *#applyInPlace(
    node: SchemaNode,
    value: unknown,
    marks: EvaluatedMarks,
    nesting: number,
  ): Sliced<Problem | undefined> {
    const every = [node.reference, ...(node.allOf ?? [])];
    for (const [key, schema] of node.dependentSchemas ?? []) {
      this.#work.spend(1);
      if (isObject(value) && Object.hasOwn(value, key)) every.push(schema);
    }
    for (const schema of every) {
      if (!schema) continue;
      const outcome = yield* this.apply(schema, value, nesting);
      if (outcome.problem) return outcome.problem;
      marks.merge(outcome.evaluated);
    }
    return (
      (node.anyOf && (yield* this.#applyAny(node.anyOf, value, marks, nesting))) ??
      (node.oneOf && (yield* this.#applyOne(node.oneOf, value, marks, nesting))) ??
      (node.not && (yield* this.#applyNot(node.not, value, nesting))) ??
      (node.condition && (yield* this.#applyIf(node.condition, node, value, marks, nesting)))
    );
  }

  *#applyAny(
    schemas: readonly SchemaNode[],
    value: unknown,
    marks: EvaluatedMarks,
    nesting: number,
  ): Sliced<Problem | undefined> {
    let matched = false;
    const problems: Problem[] = [];
    for (const schema of schemas) {
      const outcome = yield* this.apply(schema, value, nesting);
      if (outcome.problem) {
        problems.push(outcome.problem);
        continue;
      }
      matched = true;
      if (!this.#tracks) break;
      marks.merge(outcome.evaluated);
    }
    return matched ? undefined : closest(problems);
  }

  *#applyOne(
    schemas: readonly SchemaNode[],
    value: unknown,
    marks: EvaluatedMarks,
    nesting: number,
  ): Sliced<Problem | undefined> {
    let matches = 0;
    const problems: Problem[] = [];
    for (const schema of schemas) {
      const outcome = yield* this.apply(schema, value, nesting);
      if (outcome.problem) {
        problems.push(outcome.problem);
        continue;
      }
      marks.merge(outcome.evaluated);
      if (++matches > 1) {
        return problem("oneOf", () => "must match one of the alternatives only, not several");
      }
    }
    return matches === 1 ? undefined : closest(problems);
  }

  *#applyNot(schema: SchemaNode, value: unknown, nesting: number): Sliced<Problem | undefined> {
    const outcome = yield* this.apply(schema, value, nesting);
    return outcome.problem
      ? undefined
      : problem("not", () => "must not be what the schema under `not` describes");
  }

  *#applyIf(
    condition: SchemaNode,
    node: SchemaNode,
    value: unknown,
    marks: EvaluatedMarks,
    nesting: number,
  ): Sliced<Problem | undefined> {
    const met = yield* this.apply(condition, value, nesting);
    if (!met.problem) marks.merge(met.evaluated);
    const schema = met.problem ? node.otherwise : node.whenMet;
    if (!schema) return undefined;
    const outcome = yield* this.apply(schema, value, nesting);
    if (!outcome.problem) marks.merge(outcome.evaluated);
    return outcome.problem;
  }

  // Keywords about members and items

  *#applyToMembers(
    node: SchemaNode,
    value: Members,
    marks: EvaluatedMarks,
    nesting: number,
  ): Sliced<Problem | undefined> {
    const keys = Object.keys(value);
    const incomplete = findMissing(node, value, keys.length, this.#work);
    if (incomplete) return incomplete;
    const { properties, patternProperties, additionalProperties, propertyNames } = node;
    for (const key of keys) {
      this.#work.spend(1);
      if (this.#work.due) yield;
      if (propertyNames) {
        const outcome = yield* this.apply(propertyNames, key, nesting);
        if (outcome.problem) {
          const { describe } = outcome.problem;
          return problem(
            "propertyNames",
            () => `has the property ${quote(key)}, whose name is wrong: it ${describe()}`,
          );
        }
      }
      const schemas: SchemaNode[] = [];
      const property = properties?.get(key);
      if (property) schemas.push(property);
      for (const { pattern, node: schema } of patternProperties ?? []) {
        if (yield* this.#matches(pattern, key)) schemas.push(schema);
      }
      if (schemas.length === 0 && additionalProperties) {
        if (additionalProperties.always === false) return unexpected(key, properties);
        schemas.push(additionalProperties);
      }
      for (const schema of schemas) {
        const outcome =
          this.#applySimple(schema, value[key]) ?? (yield* this.apply(schema, value[key], nesting));
        if (outcome.problem) return within(key, outcome.problem);
      }
      if (schemas.length > 0) marks.add(key);
    }
    const { unevaluatedProperties } = node;
    if (!unevaluatedProperties) return undefined;
    for (const key of keys) {
      this.#work.spend(1);
      if (marks.has(key)) continue;
      if (unevaluatedProperties.always === false) return unexpected(key, properties);
      const outcome = yield* this.apply(unevaluatedProperties, value[key], nesting);
      if (outcome.problem) return within(key, outcome.problem);
    }
    marks.addAll();
    return undefined;
  }

  *#matches(pattern: Pattern, key: string): Sliced<boolean> {
    this.#work.spend(1);
    return yield* matchPattern(pattern, key, this.#work);
  }

  *#applyToItems(
    node: SchemaNode,
    value: readonly unknown[],
    marks: EvaluatedMarks,
    nesting: number,
  ): Sliced<Problem | undefined> {
    const { uniqueItems, contains, unevaluatedItems } = node;
    const { prefixItems = [], items } = node;
    const { length } = value;
    const wrongLength = findWrongLength(node, length);
    if (wrongLength) return wrongLength;
    const described = items ? length : Math.min(prefixItems.length, length);
    for (let index = 0; index < described; index++) {
      const schema = prefixItems[index] ?? items;
      this.#work.spend(1);
      if (this.#work.due) yield;
      const outcome =
        schema &&
        (this.#applySimple(schema, value[index]) ??
          (yield* this.apply(schema, value[index], nesting)));
      if (outcome?.problem) return within(index, outcome.problem);
      marks.add(index);
    }
    const wrong =
      (contains && (yield* this.#applyContains(contains, node, value, marks, nesting))) ??
      (uniqueItems ? yield* findRepeated(value, this.#work) : undefined);
    if (wrong || !unevaluatedItems) return wrong;
    for (const [index, item] of value.entries()) {
      this.#work.spend(1);
      if (marks.has(index)) continue;
      const outcome = yield* this.apply(unevaluatedItems, item, nesting);
      if (outcome.problem) return within(index, outcome.problem);
    }
    marks.addAll();
    return undefined;
  }

  *#applyContains(
    schema: SchemaNode,
    { minContains: least = 1, maxContains: most }: SchemaNode,
    value: readonly unknown[],
    marks: EvaluatedMarks,
    nesting: number,
  ): Sliced<Problem | undefined> {
    let matches = 0;
    for (const [index, item] of value.entries()) {
      if (!this.#tracks && most === undefined && matches >= least) break;
      this.#work.spend(1);
      const outcome = yield* this.apply(schema, item, nesting);
      if (outcome.problem) continue;
      matches++;
      marks.add(index);
    }
    if (matches < least) {
      return problem(
        "contains",
        () => `must contain at least ${least} items that match \`contains\`, not ${matches}`,
      );
    }
    if (most === undefined || matches <= most) return undefined;
    return problem(
      "contains",
      () => `must contain at most ${most} items that match \`contains\`, not ${matches}`,
    );
  }
}

function getOrCreate<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = create()));
  return value;
}
