/**
 * Names under which the model is shown functions that are called like tools it knows. It calls such a function in the form
 * of its own tool: raw code for `python`, another channel, another namespace. A name it does not know leaves it nothing but
 * the definition to go by.
 */
import { FUNCTIONS } from "./messages.ts";
import {
  type NamespacedFunction,
  type NamespaceStyle,
  qualifiedName,
  toolRecipient,
} from "./tool-names.ts";

export interface NameShield {
  /** The function as the model is shown it. */
  shown<T extends NamespacedFunction>(tool: T): T;
  /** The recipient of a call, which is also the author of its results, for that with the client's name. */
  recipient(recipient: string, form?: "json" | "raw"): string;
}

/** Every name stays as it is. */
export const NO_SHIELD: NameShield = { shown: (tool) => tool, recipient: (recipient) => recipient };

export interface ShieldedFunction extends NamespacedFunction {
  /** Set if the body of its calls is a text. */
  readonly text?: unknown;
}

/** By name in lower case. */
const SHOWN: ReadonlyMap<string, string> = new Map([
  ["apply_patch", "edit_with_patch"],
  ["bash", "run_bash"],
  ["browser", "web_browser"],
  ["container", "run_container"],
  ["exec", "run_command"],
  ["python", "run_python"],
  ["repo_browser", "browse_repository"],
  ["shell", "run_shell"],
]);

/** Those that the model also knows before a dot: `browser.search`. */
const NAMESPACES: ReadonlySet<string> = new Set(["browser", "container", "python", "repo_browser"]);

/** The model was trained to write this tool's text as it is. */
const RAW_PATCH = "apply_patch";

/** @param tools all functions of the client that the request offers, whatever its `tool_choice` leaves of them */
export function createNameShield(
  tools: readonly ShieldedFunction[],
  style: NamespaceStyle = "own",
): NameShield {
  const heads = shownHeads(tools);
  const recipients = new Map(
    tools.map((tool) => [toRecipient(tool, style), toRecipient(rename(tool, heads), style)]),
  );
  return {
    shown: (tool) => rename(tool, heads),
    recipient(recipient, form = "json") {
      const known = recipients.get(recipient);
      if (known !== undefined) return known;
      // A function of an earlier turn that this request does not offer.
      if (!recipient.startsWith(`${FUNCTIONS}.`)) return recipient;
      const name = recipient.slice(FUNCTIONS.length + 1);
      if (form === "raw" && isPatch(name)) return recipient;
      return `${FUNCTIONS}.${withHead(name, heads.get(headOf(name)) ?? SHOWN.get(keyOf(name)))}`;
    },
  };
}

/**
 * By the part of a name before its first dot, which functions of a namespace have in common. The same in every request,
 * unless another function has that name; the order of the request does not matter.
 */
function shownHeads(tools: readonly ShieldedFunction[]): ReadonlyMap<string, string> {
  const names = [...new Set(tools.map((tool) => headOf(nameOf(tool))))].toSorted();
  const taken = new Set(names);
  const heads = new Map<string, string>();
  const counts = new Map<string, number>();
  for (const head of names) {
    const shown = SHOWN.get(head.toLowerCase());
    if (shown === undefined) continue;
    let count = counts.get(shown) ?? 1;
    while (taken.has(numbered(shown, count))) count++;
    heads.set(head, numbered(shown, count));
    counts.set(shown, count + 1);
  }
  return heads;
}

function numbered(name: string, count: number): string {
  return count === 1 ? name : `${name}_${count}`;
}

function rename<T extends ShieldedFunction>(tool: T, heads: ReadonlyMap<string, string>): T {
  const name = nameOf(tool);
  const shown = withHead(name, heads.get(headOf(name)));
  if (shown === name || (tool.text !== undefined && isPatch(name))) return tool;
  const { namespace } = tool;
  if (namespace === undefined || namespace.name === FUNCTIONS) return { ...tool, name: shown };
  return { ...tool, namespace: { ...namespace, name: headOf(shown) } };
}

function withHead(name: string, head: string | undefined): string {
  const own = headOf(name);
  const isKnown = name === own || NAMESPACES.has(keyOf(name));
  return head === undefined || !isKnown ? name : head + name.slice(own.length);
}

function toRecipient({ namespace, name }: NamespacedFunction, style: NamespaceStyle): string {
  return toolRecipient(namespace?.name, name, style);
}

function nameOf({ namespace, name }: NamespacedFunction): string {
  return qualifiedName(namespace?.name, name);
}

function headOf(name: string): string {
  const dot = name.indexOf(".");
  return dot < 0 ? name : name.slice(0, dot);
}

function keyOf(name: string): string {
  return headOf(name).toLowerCase();
}

function isPatch(name: string): boolean {
  return name.toLowerCase() === RAW_PATCH;
}
