/** The functions a request offers and its constraints on calls, the same for all APIs. */
import type { ToolFunction } from "../harmony/conversation.ts";
import type { Json } from "../harmony/json.ts";
import { CompileBudget } from "../json-schema/index.ts";
import type { OfferedTool, ToolChoice } from "../turn/turn.ts";
import { compileEnforced } from "./enforced-schemas.ts";
import { RequestError } from "./errors.ts";

export interface OfferedFunction extends ToolFunction {
  readonly strict: boolean;
  /** The parameters from `JSON.parse`. */
  readonly plainParameters: unknown;
  /** The schema's field, for errors. */
  readonly param: string;
}

/** A function's definition as both APIs spell its fields. */
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
): OfferedFunction {
  const { name, description, strict } = definition;
  return {
    name,
    description: description ?? "",
    strict: strict ?? false,
    plainParameters: definition.parameters,
    param,
    ...(parameters !== undefined && parameters !== null && { parameters }),
  };
}

/** The model identifies a function by its name alone. */
export function refuseDuplicates(functions: readonly OfferedFunction[]): void {
  const seen = new Set<string>();
  for (const { name } of functions) {
    if (seen.has(name)) {
      throw new RequestError(`tools: there are two tools with the name ${JSON.stringify(name)}`, {
        param: "tools",
      });
    }
    seen.add(name);
  }
}

/** Compiles the enforced schemas. Throws a {@link RequestError} for one that cannot be checked. */
export function* toOfferedTools(
  functions: readonly OfferedFunction[],
  choice: ToolChoice,
): Generator<void, OfferedTool[]> {
  const budget = new CompileBudget();
  const forced = new Set(choice.type === "required" ? choice.names : []);
  const tools: OfferedTool[] = [];
  let compiled = 0;
  for (const { name, parameters, plainParameters, strict, param } of functions) {
    if (parameters === undefined) {
      tools.push({ name, strict });
    } else if (!strict && !forced.has(name)) {
      tools.push({ name, strict, parameters });
    } else {
      if (compiled++ % SCHEMAS_PER_STEP === 0) yield;
      const checker = compileEnforced(parameters, plainParameters, param, budget);
      tools.push({ name, strict, parameters, checker });
    }
  }
  return tools;
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

/** Throws a {@link RequestError} when the choice cannot be met with these functions. */
export function toToolChoice(choice: RequestedChoice, names: readonly string[]): ToolChoice {
  switch (choice.type) {
    case "auto":
    case "none":
      return { type: choice.type };
    case "required":
      if (names.length > 0) return { type: "required", names };
      throw new RequestError(`${choice.param}: a call is required but no tools are given`, {
        param: choice.param,
      });
    case "named":
      return { type: "required", names: [known(choice.tool, names)] };
    case "allowed": {
      const allowed = choice.tools.map((tool) => known(tool, names));
      return { type: choice.mode === "required" ? "required" : "allowed", names: allowed };
    }
    default:
      return choice satisfies never;
  }
}

function known({ name, param }: NamedTool, names: readonly string[]): string {
  if (names.includes(name)) return name;
  throw new RequestError(`${param}: no tool with the name ${JSON.stringify(name)} is given`, {
    param,
  });
}
