/**
 * Renames functions with the names of trained tools for the prompt. The model calls such a function in the form of the
 * trained tool: raw code for `python`, another channel, another namespace. With an unknown name, it follows the
 * function's definition.
 */
import { FUNCTIONS, functionRecipient } from "./messages.ts";
import {
  type NamespacedFunction,
  type NamespaceStyle,
  qualifiedName,
  toolRecipient,
} from "./tool-names.ts";

export interface NameShield {
  /** The function in the form shown to the model. */
  shown<T extends NamespacedFunction>(tool: T): T;
  /** Converts the recipient of a call, which is also the author of its results, from the client's name. */
  recipient(recipient: string, form?: "json" | "raw"): string;
}

/** A shield that keeps every name. */
export const NO_SHIELD: NameShield = { shown: (tool) => tool, recipient: (recipient) => recipient };

export interface ShieldedFunction extends NamespacedFunction {
  /** Set if the body of the function's calls is a text. */
  readonly text?: unknown;
}

/** The shown names by known name in lower case. */
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

/** Names that the model also knows before a dot: `browser.search`. */
const NAMESPACES: ReadonlySet<string> = new Set(["browser", "container", "python", "repo_browser"]);

/** The tool whose text the model was trained to write without JSON. */
const RAW_PATCH = "apply_patch";

/** @param tools all functions of the client in the request, regardless of its `tool_choice` */
export function createNameShield(
  tools: readonly ShieldedFunction[],
  style: NamespaceStyle = "own",
): NameShield {
  const heads = new ShownHeads(tools.map((tool) => headOf(nameOf(tool))));
  const rename = <T extends ShieldedFunction>(tool: T) => renameTool(tool, heads);
  const recipients = new Map(
    tools.map((tool) => [toRecipient(tool, style), toRecipient(rename(tool), style)]),
  );
  return {
    shown: rename,
    recipient(recipient, form = "json") {
      const known = recipients.get(recipient);
      if (known !== undefined) return known;
      // The recipient is a function of an earlier turn that this request does not offer. With a dot it is probably a
      // trained tool.
      const [namespace, name = "", ...rest] = recipient.split(".");
      if (namespace !== FUNCTIONS || rest.length > 0) return recipient;
      return form === "raw" && isPatch(name) ? recipient : functionRecipient(heads.shown(name));
    },
  };
}

/**
 * Shown names by the part before the first dot, which functions of a namespace share. They are equal in every request,
 * unless another function has such a name; the order of the functions does not matter.
 */
class ShownHeads {
  readonly #taken: ReadonlySet<string>;
  readonly #shown = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  constructor(offered: readonly string[]) {
    this.#taken = new Set(offered);
    for (const head of [...this.#taken].toSorted()) this.shown(head);
  }

  shown(head: string): string {
    const known = this.#shown.get(head);
    if (known !== undefined) return known;
    const shown = SHOWN.get(head.toLowerCase());
    if (shown === undefined) return head;
    let count = this.#counts.get(shown) ?? 1;
    while (this.#taken.has(numbered(shown, count))) count++;
    this.#counts.set(shown, count + 1);
    this.#shown.set(head, numbered(shown, count));
    return numbered(shown, count);
  }
}

function numbered(name: string, count: number): string {
  return count === 1 ? name : `${name}_${count}`;
}

function renameTool<T extends ShieldedFunction>(tool: T, heads: ShownHeads): T {
  const name = nameOf(tool);
  const head = headOf(name);
  const isKnown = name === head || NAMESPACES.has(head.toLowerCase());
  const shown = isKnown ? heads.shown(head) + name.slice(head.length) : name;
  if (shown === name || (tool.text !== undefined && isPatch(name))) return tool;
  const { namespace } = tool;
  if (namespace === undefined || namespace.name === FUNCTIONS) return { ...tool, name: shown };
  return { ...tool, namespace: { ...namespace, name: headOf(shown) } };
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

function isPatch(name: string): boolean {
  return name.toLowerCase() === RAW_PATCH;
}
