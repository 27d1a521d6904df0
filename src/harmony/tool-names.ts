/**
 * Tools with a namespace of their own, such as those of an MCP server: how they are named, shown and addressed.
 *
 * In a turn such a tool is identified as `namespace.name`. The model is shown either a namespace of its own, whose tools
 * are addressed as `namespace.name`, or a function `namespace__name`. What the model writes is read in every spelling,
 * whichever it was shown (`recipient.ts`).
 */
import type { ToolFunction, ToolNamespace } from "./conversation.ts";
import { FUNCTIONS, functionRecipient } from "./messages.ts";
import { TRAINED_TOOLS } from "./trained-tools.ts";

/** How the model is shown tools with a namespace: as one of its own, or as functions. */
export type NamespaceStyle = "own" | "flat";

export interface Namespace {
  readonly name: string;
  readonly description?: string;
}

/** A function and the namespace it belongs to. Absent: it has none of its own. */
export interface NamespacedFunction extends ToolFunction {
  readonly namespace?: Namespace;
}

/** Identifies a tool among all that are offered. */
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

/** The functions as the developer message offers them. */
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

/** Whether tools may stand below this name: it is no name of a tool, a role or a channel that the model knows. */
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

/** Clients may name the namespace of plain functions. */
function isPlain(namespace: string | undefined): namespace is undefined | typeof FUNCTIONS {
  return namespace === undefined || namespace === FUNCTIONS;
}

function flatName(namespace: string, name: string): string {
  return `${namespace}__${name}`;
}
