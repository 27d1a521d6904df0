/** A compiled schema: its validated keywords, with references as edges of a graph. */
import type { Format } from "./formats.ts";
import type { Pattern } from "./pattern.ts";

export interface SchemaNode {
  /** The value of a schema `true` or `false`. Undefined: the other members apply. */
  readonly always: boolean | undefined;
  /** Whether several places apply the schema, so that its results are cached. */
  shared: boolean;
  /** Whether the schema concerns the value alone and is cheap to check: see {@link isSimple}. */
  isSimple: boolean;

  // Keywords about the value alone
  types?: readonly TypeName[];
  /** Canonical forms, and their text for messages. */
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

  // Keywords applied in place
  reference?: SchemaNode;
  allOf?: readonly SchemaNode[];
  anyOf?: readonly SchemaNode[];
  oneOf?: readonly SchemaNode[];
  not?: SchemaNode;
  /** `if` and its branches. Not an object with `then`, which `await` would treat as a promise. */
  condition?: SchemaNode;
  whenMet?: SchemaNode;
  otherwise?: SchemaNode;
  dependentSchemas?: ReadonlyMap<string, SchemaNode>;

  // Keywords about members and items
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

/** The schemas applied to the same value as this schema. */
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

/** Whether a schema can be checked synchronously. */
export function isSimple(node: SchemaNode): boolean {
  return Object.keys(node).every((key) => SIMPLE.has(key));
}
