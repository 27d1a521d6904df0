/**
 * Functions that a request offers without showing them: the prompt defines a function after the conversation, once a
 * search has found it or the model has called it by its name. The prompt before the definition is unchanged.
 */
import type { Message } from "../../harmony/conversation.ts";
import { developerMessage, functionRecipient } from "../../harmony/messages.ts";
import {
  type NamespacedFunction,
  type NamespaceStyle,
  toShownTools,
} from "../../harmony/tool-names.ts";
import type { GatewayToolFunction } from "../gateway-tool.ts";

/** The function by which the model searches for tools. */
export const TOOL_SEARCH = "tool_search";

export const SEARCH_RECIPIENT = functionRecipient(TOOL_SEARCH);

/** A deferred function, identified by its name in the turn, and by the recipient of its calls in messages. */
export type DeferredFunction = GatewayToolFunction;

export class DeferredFunctions {
  readonly all: readonly DeferredFunction[];
  readonly #style: NamespaceStyle;
  readonly #byName: ReadonlyMap<string, DeferredFunction>;
  readonly #byRecipient: ReadonlyMap<string, DeferredFunction>;

  constructor(functions: readonly DeferredFunction[], style: NamespaceStyle) {
    this.all = functions;
    this.#style = style;
    this.#byName = new Map(functions.map((each) => [each.name, each]));
    this.#byRecipient = new Map(functions.map((each) => [each.recipient, each]));
  }

  /** Finds a function by its name in the turn. */
  find(name: string): NamespacedFunction | undefined {
    return this.#byName.get(name)?.shown;
  }

  recipientOf(name: string): string | undefined {
    return this.#byName.get(name)?.recipient;
  }

  /** The recipients that a call of `recipient`, or the result of a search, makes known. */
  recipientsOf(recipient: string, result: string): readonly string[] {
    const named = recipient === SEARCH_RECIPIENT ? recipientsIn(result) : [recipient];
    return named.filter((each) => this.#byRecipient.has(each));
  }

  /** Defines the functions that are not in `defined`, and adds them to it. Undefined: all are defined. */
  define(recipients: Iterable<string>, defined: Set<string>): Message | undefined {
    const added: NamespacedFunction[] = [];
    for (const recipient of recipients) {
      const found = defined.has(recipient) ? undefined : this.#byRecipient.get(recipient);
      if (found === undefined) continue;
      defined.add(recipient);
      added.push(found.shown);
    }
    return added.length === 0 ? undefined : developerMessage(toShownTools(added, this.#style));
  }
}

const FOUND = "Tools found: ";
const NOTHING_FOUND =
  "No tools were found. Say in other words what the tool should do, or answer without one.";

/** The result of a search for the model. The definitions follow in a developer message. */
export function foundText(recipients: readonly string[]): string {
  return recipients.length === 0 ? NOTHING_FOUND : FOUND + recipients.join(", ");
}

function recipientsIn(result: string): readonly string[] {
  return result.startsWith(FOUND) ? result.slice(FOUND.length).split(", ") : [];
}
