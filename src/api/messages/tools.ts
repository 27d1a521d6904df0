/** Selects the tools shown to the model, and tells it about tools that cannot run here. */
import { RequestError } from "../errors.ts";
import { type OfferedFunction, refuseDuplicates, toOfferedFunction } from "../offered-functions.ts";
import { jsonAt, readOrdered } from "../ordered-json.ts";
import type { CountRequest } from "./request.ts";

/** Tools that only Anthropic's servers or models support: skipped, or answered with 400. */
export type ServerTools = "skip" | "refuse";

export interface ToolsOptions {
  readonly bodyText: string;
  readonly tenant: string;
  readonly serverTools: ServerTools;
  /** Tools that the history has called or referenced. */
  readonly references: ReadonlySet<string>;
}

export interface OfferedTools {
  readonly functions: readonly OfferedFunction[];
  /** Kinds of tools that were skipped. */
  readonly skipped: readonly string[];
  /** For the instructions, if only such tools were offered. */
  readonly notice: string | undefined;
}

/**
 * A tool loaded on demand (`defer_loading`) is offered once the history names it: as a reference in the
 * result of a tool search, or in a call.
 */
export function toOfferedFunctions(
  { tools, tool_choice: choice }: CountRequest,
  { bodyText, tenant, serverTools, references }: ToolsOptions,
): OfferedTools {
  const schemas = readOrdered(bodyText, "tools", tools, tenant);
  const forced = choice?.type === "tool" ? choice.name : undefined;
  const functions: OfferedFunction[] = [];
  const unserved: { readonly kind: string; readonly name: string }[] = [];
  for (const [index, tool] of (tools ?? []).entries()) {
    if (tool.type === "server") {
      if (serverTools === "refuse") throw unsupported(tool.kind, index);
      unserved.push(tool);
    } else if (!tool.defer_loading || references.has(tool.name) || tool.name === forced) {
      const param = `tools[${index}].input_schema`;
      const definition = { ...tool, parameters: tool.input_schema };
      const schema = jsonAt(schemas, [index, "input_schema"]);
      functions.push(toOfferedFunction(definition, schema, param));
    }
  }
  refuseDuplicates(functions);
  const hasOthers = unserved.length < (tools?.length ?? 0);
  return {
    functions,
    skipped: unserved.map(({ kind }) => kind),
    notice: unserved.length > 0 && !hasOthers ? toNotice(unserved) : undefined,
  };
}

/** Without this note the model answers from memory, and clients present that as search results. */
function toNotice(tools: readonly { readonly name: string }[]): string {
  const names = tools.map(({ name }) => name).join(", ");
  return (
    `Not available here: ${names}. ` +
    "Where the request needs it, say that you could not use it instead of answering as if you had."
  );
}

function unsupported(kind: string, index: number): RequestError {
  const param = `tools[${index}].type`;
  return new RequestError(`${param}: ${JSON.stringify(kind)} tools are not supported`, { param });
}
