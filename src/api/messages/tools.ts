/**
 * Selects the tools shown to the model: the client's, and those of Anthropic's servers that the gateway runs. Where none of them
 * is left, the prompt names the tools that cannot run here.
 */
import type { Preset } from "../../turn/preset.ts";
import { refusal, type RequestError } from "../errors.ts";
import {
  type OfferedFunction,
  refuseDuplicates,
  toOfferedFunction,
} from "../request/offered-functions.ts";
import {
  type Declaration,
  type HostedDeps,
  type HostedTools,
  isHosted,
  readHostedTools,
} from "../tools/hosted-tools.ts";
import { withPresetTools } from "../tools/preset-tools.ts";
import { jsonAt, readOrdered } from "../request/ordered-json.ts";
import type { CountRequest } from "./request.ts";
import { type ServerTool, toDeclaration } from "./server-tools.ts";

/** Tools that cannot run here: skipped, or answered with 400. */
export type ServerTools = "skip" | "refuse";

export interface ToolsOptions {
  readonly bodyText: string;
  readonly tenant: string;
  readonly serverTools: ServerTools;
  /** Tools that the history has called or referenced. */
  readonly references: ReadonlySet<string>;
  readonly hosted: HostedDeps;
  readonly preset: Preset | undefined;
}

export interface OfferedTools {
  readonly functions: readonly OfferedFunction[];
  /** Tools that the gateway runs. */
  readonly hosted: HostedTools;
  /** Their kinds, by the names used in the request. */
  readonly names: ReadonlyMap<string, string>;
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
  { tools, tool_choice: choice, container }: CountRequest,
  { bodyText, tenant, serverTools, references, hosted, preset }: ToolsOptions,
): OfferedTools {
  const schemas = readOrdered(bodyText, "tools", tools, tenant);
  const forced = choice?.type === "tool" ? choice.name : undefined;
  const functions: OfferedFunction[] = [];
  const unserved: ServerTool[] = [];
  const declared: Declaration[] = [];
  const names = new Map<string, string>();
  const isLoaded = (name: string, isDeferred: unknown) =>
    isDeferred !== true || references.has(name) || name === forced;
  const searches = (tools ?? []).some(
    (tool) => tool.type === "server" && /^web_search_\d+$/.test(tool.kind),
  );
  for (const [index, tool] of (tools ?? []).entries()) {
    if (tool.type === "server") {
      const kind = servedAs(tool.kind, searches);
      if (kind !== undefined && isHosted(kind, hosted)) {
        if (!isLoaded(tool.name, tool.fields["defer_loading"])) continue;
        names.set(tool.name, kind);
        declared.push(toDeclaration(tool, { kind, param: `tools[${index}]`, container }));
        continue;
      }
      if (serverTools === "refuse") throw unsupported(tool.kind, index);
      unserved.push(tool);
    } else if (isLoaded(tool.name, tool.defer_loading)) {
      const param = `tools[${index}].input_schema`;
      const definition = { ...tool, parameters: tool.input_schema };
      const schema = jsonAt(schemas, [index, "input_schema"]);
      const each = toOfferedFunction(definition, schema, param);
      functions.push(tool.defer_loading === true ? { ...each, isLater: true } : each);
    }
  }
  refuseDuplicates(functions);
  const hasOthers = unserved.length < (tools?.length ?? 0);
  return {
    functions,
    hosted: readHostedTools(withPresetTools(declared, preset), hosted),
    names,
    skipped: unserved.map(({ kind }) => kind),
    notice: unserved.length > 0 && !hasOthers ? toNotice(unserved) : undefined,
  };
}

/**
 * The gateway's tool for a dated name. `web_fetch` beside `web_search` is the same tool, since the browser also opens
 * pages. `web_fetch` alone is not supported, because the model was trained with the complete browser.
 */
function servedAs(kind: string, searches: boolean): string | undefined {
  if (/^(?:web_search|code_execution)_\d+$/.test(kind)) return kind.replace(/_\d+$/, "");
  return searches && /^web_fetch_\d+$/.test(kind) ? "web_search" : undefined;
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
  return refusal(param, `${JSON.stringify(kind)} tools are not supported`);
}
