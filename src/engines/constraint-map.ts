/** How an engine sends constraints: one entry for each type, from which its capabilities are made as well. */
import type { Constraint } from "./engine.ts";

type Type = Constraint["type"];
type ByType = { readonly [C in Constraint as C["type"]]: C };

/**
 * Converts each type of constraint to the server's own form; null where the server has no such form. After a new type
 * of {@link Constraint}, an engine does not compile until it has an entry for it.
 */
export type ConstraintMap<Native> = {
  readonly [K in Type]: ((constraint: ByType[K]) => Native) | null;
};

/** The types that a map converts, in its order: {@link Capabilities.constraints}. */
export function constraintTypes(map: ConstraintMap<unknown>): readonly Type[] {
  return Object.entries(map)
    .filter((entry): entry is [Type, (typeof entry)[1]] => entry[1] !== null)
    .map(([type]) => type);
}

/** Undefined without a constraint, and for a type that the server has no form for. */
export function toNativeConstraint<Native>(
  map: ConstraintMap<Native>,
  constraint: Constraint | undefined,
): Native | undefined {
  return constraint && convert(map, constraint);
}

/** A constraint in the form in which TypeScript relates its type to the entry of the map. */
type Related<K extends Type = Type> = { readonly [P in K]: { readonly type: P } & ByType[P] }[K];

function convert<Native, K extends Type>(
  map: ConstraintMap<Native>,
  constraint: Related<K>,
): Native | undefined {
  return map[constraint.type]?.(constraint);
}
