/**
 * Names, prompt forms and recipients of tools with their own namespace, such as an MCP server's.
 *
 * In a turn such a tool is identified as `namespace.name`. The prompt shows either the namespace, whose tools are
 * addressed as `namespace.name`, or a function `namespace__name`. The model's calls are read in every spelling,
 * regardless of the prompt (`recipient.ts`).
 */
import type { ToolFunction, ToolNamespace } from "./conversation.ts";
import { FUNCTIONS, functionRecipient } from "./messages.ts";
import { TRAINED_TOOLS } from "./trained-tools.ts";

/** The prompt form of tools with a namespace: as a separate namespace, or as functions. */
export type NamespaceStyle = "own" | "flat";

export interface Namespace {
  readonly name: string;
  readonly description?: string;
}

/** A function with its namespace. Absent: the function has none. */
export interface NamespacedFunction extends ToolFunction {
  readonly namespace?: Namespace;
}

/** The name that identifies a tool among all offered ones. */
export function qualifiedName(namespace: string | undefined, name: string): string {
  return isPlain(namespace) ? name : `${namespace}.${name}`;
}

/** The recipient of a tool's calls, which is also the author of its results. */
export function toolRecipient(
  namespace: string | undefined,
  name: string,
  style: NamespaceStyle,
): string {
  if (isPlain(namespace)) return functionRecipient(name);
  return style === "own" ? `${namespace}.${name}` : functionRecipient(flatName(namespace, name));
}

/** The functions in the form of the developer message. */
export function toShownTools(
  tools: readonly NamespacedFunction[],
  style: NamespaceStyle,
): { readonly functions: readonly ToolFunction[]; readonly namespaces: readonly ToolNamespace[] } {
  const functions: ToolFunction[] = [];
  const namespaces = new Map<string, Namespace & { readonly functions: ToolFunction[] }>();
  for (const { namespace, ...tool } of tools) {
    if (namespace === undefined || isPlain(namespace.name)) {
      functions.push(tool);
    } else if (style === "flat") {
      functions.push({ ...tool, name: flatName(namespace.name, tool.name) });
    } else {
      const known = namespaces.get(namespace.name);
      if (known) known.functions.push(tool);
      else namespaces.set(namespace.name, { ...namespace, functions: [tool] });
    }
  }
  return {
    functions,
    namespaces: [...namespaces.values()].map((each) => ({ key: each.name, ...each })),
  };
}

/** Whether a namespace may have this name: it is not a tool, role or channel that the model knows. */
export function isLabel(text: string): boolean {
  return /^[\w-]{1,64}$/.test(text) && !RESERVED.has(text);
}

const RESERVED: ReadonlySet<string> = new Set([
  ...TRAINED_TOOLS,
  FUNCTIONS,
  "all",
  "analysis",
  "assistant",
  "commentary",
  "container",
  "developer",
  "final",
  "repo_browser",
  "system",
  "tool",
  "user",
]);

/** Whether functions have no own namespace. Clients may also name the namespace of plain functions. */
function isPlain(namespace: string | undefined): namespace is undefined | typeof FUNCTIONS {
  return namespace === undefined || namespace === FUNCTIONS;
}

function flatName(namespace: string, name: string): string {
  return `${namespace}__${name}`;
}
