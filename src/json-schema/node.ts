/** A compiled schema: what is left of its keywords once they are checked, its references being edges of a graph. */
import type { Format } from "./formats.ts";
import type { Pattern } from "./pattern.ts";

export interface SchemaNode {
  /** The schema `true` or `false`; any other has the rest. */
  readonly always: boolean | undefined;
  /** More than one place applies it, so it may meet a value again: its results are remembered. */
  shared: boolean;
  /** It is about the value alone, and says so without much work: see {@link isSimple}. */
  isSimple: boolean;

  // Of the value alone
  types?: readonly TypeName[];
  /** Canonical forms, and what they look like in a message. */
  allowed?: {
    readonly forms: ReadonlySet<string>;
    readonly keyword: "const" | "enum";
    readonly shown: string;
  };
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  multipleOf?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: Pattern;
  format?: Format;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  minProperties?: number;
  maxProperties?: number;
  required?: readonly string[];
  dependentRequired?: ReadonlyMap<string, readonly string[]>;

  // In place
  reference?: SchemaNode;
  allOf?: readonly SchemaNode[];
  anyOf?: readonly SchemaNode[];
  oneOf?: readonly SchemaNode[];
  not?: SchemaNode;
  /** `if`, and what it decides between: an object with `then` would be taken for a promise. */
  condition?: SchemaNode;
  whenMet?: SchemaNode;
  otherwise?: SchemaNode;
  dependentSchemas?: ReadonlyMap<string, SchemaNode>;

  // Of members and items
  properties?: ReadonlyMap<string, SchemaNode>;
  patternProperties?: readonly { readonly pattern: Pattern; readonly node: SchemaNode }[];
  additionalProperties?: SchemaNode;
  propertyNames?: SchemaNode;
  prefixItems?: readonly SchemaNode[];
  items?: SchemaNode;
  contains?: SchemaNode;
  minContains?: number;
  maxContains?: number;
  unevaluatedProperties?: SchemaNode;
  unevaluatedItems?: SchemaNode;
}

export const TYPE_NAMES = [
  "array",
  "boolean",
  "integer",
  "null",
  "number",
  "object",
  "string",
] as const;
export type TypeName = (typeof TYPE_NAMES)[number];

/** The schemas that are applied to the very value a schema is applied to. */
export function nodesInPlace(node: SchemaNode): SchemaNode[] {
  return [
    node.reference,
    ...(node.allOf ?? []),
    ...(node.anyOf ?? []),
    ...(node.oneOf ?? []),
    node.not,
    node.condition,
    node.whenMet,
    node.otherwise,
    ...(node.dependentSchemas?.values() ?? []),
  ].filter((each) => each !== undefined);
}

const SIMPLE: ReadonlySet<string> = new Set([
  "always",
  "exclusiveMaximum",
  "exclusiveMinimum",
  "format",
  "isSimple",
  "maximum",
  "maxLength",
  "minimum",
  "minLength",
  "multipleOf",
  "shared",
  "types",
] satisfies (keyof SchemaNode)[]);

/** Whether a schema can be checked at once, without pausing. */
export function isSimple(node: SchemaNode): boolean {
  return Object.keys(node).every((key) => SIMPLE.has(key));
}
