/** The functions that a request offers and its constraints on calls, for all APIs. */
import type { Json } from "../../harmony/json.ts";
import { type NameShield, NO_SHIELD } from "../../harmony/name-shield.ts";
import { createOfferedNames } from "../../harmony/offered-names.ts";
import {
  type Namespace,
  type NamespacedFunction,
  type NamespaceStyle,
  qualifiedName,
  toolRecipient,
} from "../../harmony/tool-names.ts";
import { CompileBudget } from "../../json-schema/index.ts";
import type { OfferedTool, ToolChoice } from "../../turn/turn.ts";
import { compileEnforced } from "./enforced-schemas.ts";
import { refusal } from "../errors.ts";

export interface OfferedFunction extends NamespacedFunction {
  readonly strict: boolean;
  /** The parameters from `JSON.parse`. */
  readonly plainParameters: unknown;
  /** The schema's field, for errors. */
  readonly param: string;
  /** Present if calls of the function have text as their body (`OfferedTool.text`). */
  readonly text?: NonNullable<OfferedTool["text"]>;
  /** Whether the function may appear later in the conversation than its first turn. */
  readonly isLater?: boolean;
}

/** A function's definition with the field names of both APIs. */
export interface FunctionDefinition {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly strict?: boolean | null | undefined;
  readonly parameters?: unknown;
}

export function toOfferedFunction(
  definition: FunctionDefinition,
  parameters: Json | undefined,
  param: string,
  namespace?: Namespace,
): OfferedFunction {
  const { name, description, strict } = definition;
  return {
    name,
    description: description ?? "",
    strict: strict ?? false,
    plainParameters: definition.parameters,
    param,
    ...(parameters !== undefined && parameters !== null && { parameters }),
    ...(namespace && { namespace }),
  };
}

/** The name that identifies the function in the turn. */
export function turnName({ namespace, name }: NamespacedFunction): string {
  return qualifiedName(namespace?.name, name);
}

/** Refuses functions of equal names: the model identifies a function by its name, or by namespace and name. */
export function refuseDuplicates(functions: readonly NamespacedFunction[]): void {
  const seen = new Set<string>();
  for (const each of functions) {
    const name = turnName(each);
    if (seen.has(name)) {
      throw refusal("tools", `two tools have the name ${JSON.stringify(name)}`);
    }
    seen.add(name);
  }
}

/** Options of the functions' rendering for the model. */
export interface ShownFunctions {
  readonly style?: NamespaceStyle;
  readonly shield?: NameShield;
}

/** Compiles the enforced schemas. Throws a {@link RequestError} for one that cannot be checked. */
export function* toOfferedTools(
  functions: readonly OfferedFunction[],
  choice: ToolChoice,
  { style = "own", shield = NO_SHIELD }: ShownFunctions = {},
): Generator<void, OfferedTool[]> {
  const budget = new CompileBudget();
  const forced = new Set(choice.type === "required" ? choice.names : []);
  const tools: OfferedTool[] = [];
  let compiled = 0;
  for (const each of functions) {
    const { parameters, plainParameters, strict, param, text } = each;
    const name = turnName(each);
    const tool = { name, strict, ...toShownName(shield.shown(each), name, style) };
    if (text !== undefined) {
      tools.push({ ...tool, text });
    } else if (parameters === undefined) {
      tools.push(tool);
    } else if (!strict && !forced.has(name)) {
      tools.push({ ...tool, parameters });
    } else {
      if (compiled++ % SCHEMAS_PER_STEP === 0) yield;
      const checker = compileEnforced(parameters, plainParameters, param, budget);
      tools.push({ ...tool, parameters, checker });
    }
  }
  return tools;
}

function toShownName(
  shown: NamespacedFunction,
  name: string,
  style: NamespaceStyle,
): Pick<OfferedTool, "recipient" | "shownAs"> {
  const shownAs = turnName(shown);
  const { namespace } = shown;
  if (namespace === undefined && shownAs === name) return {};
  const recipient = toolRecipient(namespace?.name, shown.name, style);
  return { recipient, ...(shownAs !== name && { shownAs }) };
}

const SCHEMAS_PER_STEP = 64;

/** A tool choice with the field of each name, for errors. */
export type RequestedChoice =
  | { readonly type: "auto" | "none" }
  | { readonly type: "required"; readonly param: string }
  | { readonly type: "named"; readonly tool: NamedTool }
  | {
      readonly type: "allowed";
      readonly mode: "auto" | "required";
      readonly tools: readonly NamedTool[];
    };

export interface NamedTool {
  readonly name: string;
  readonly param: string;
}

/**
 * Throws a {@link RequestError} if the choice cannot be satisfied with these functions. `names`: the functions of the
 * turn; a choice may use each spelling that a call may.
 */
export function toToolChoice(choice: RequestedChoice, names: readonly string[]): ToolChoice {
  switch (choice.type) {
    case "auto":
    case "none":
      return { type: choice.type };
    case "required":
      if (names.length > 0) return { type: "required", names };
      throw refusal(choice.param, "a call is required but no tools are given");
    case "named":
      return { type: "required", names: known([choice.tool], names) };
    case "allowed": {
      const allowed = known(choice.tools, names);
      return { type: choice.mode === "required" ? "required" : "allowed", names: allowed };
    }
    default:
      return choice satisfies never;
  }
}

function known(tools: readonly NamedTool[], names: readonly string[]): string[] {
  const spellings = createOfferedNames(names);
  const offered = new Set(names);
  return tools.map(({ name, param }) => {
    const resolved = spellings.resolve(name);
    if (offered.has(resolved)) return resolved;
    throw refusal(param, `no tool with the name ${JSON.stringify(name)} is given`);
  });
}
