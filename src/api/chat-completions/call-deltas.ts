/** The deltas of a choice's tool calls, as the JSON members of a chunk's `delta`. Undefined: there is nothing to send. */
import type { ToolCallPart } from "../../turn/turn.ts";
import type { ReplyOptions } from "./reply.ts";
import { unwrapCustomInput } from "./to-completion.ts";

/**
 * The wire format of a call.
 * - `function`: the arguments in deltas
 * - `code`: a custom tool whose input is the message's body, in deltas
 * - `custom`: a custom tool whose input is one string in the arguments. Escapes can only be decoded in the whole
 *   string, so the input is sent in one delta
 * - `legacy`: as `function_call`, which has room for one call
 */
type Form = "function" | "code" | "custom" | "legacy";

export class CallDeltas {
  readonly #options: ReplyOptions;
  #count = 0;
  #form: Form = "function";
  #head = "";
  #tail = "";
  #customArguments = "";

  constructor(options: ReplyOptions) {
    this.#options = options;
  }

  start({ id, name }: ToolCallPart): string | undefined {
    const index = this.#count++;
    const named = `"name":${JSON.stringify(name)}`;
    this.#form = this.#formOf(name);
    this.#customArguments = "";
    if (this.#form === "legacy") {
      this.#head = '"function_call":{"arguments":';
      this.#tail = "}";
      return index > 0 ? undefined : `"function_call":{${named},"arguments":""}`;
    }
    const isFunction = this.#form === "function";
    this.#head = `"tool_calls":[{"index":${index},${isFunction ? '"function":{"arguments":' : CUSTOM}`;
    this.#tail = "}}]";
    const body = isFunction
      ? `"type":"function","function":{${named},"arguments":""}`
      : `"type":"custom","custom":{${named},"input":""}`;
    return `"tool_calls":[{"index":${index},"id":${JSON.stringify(id)},${body}}]`;
  }

  /** JSON before the text of the open call's deltas. */
  get head(): string {
    return this.#head;
  }

  /** JSON after the text of the open call's deltas. */
  get tail(): string {
    return this.#tail;
  }

  /**
   * Adds text to the open call. Returns whether the text is sent at once, as JSON between {@link head} and
   * {@link tail}.
   */
  add(text: string): boolean {
    if (this.#form === "legacy") return this.#count === 1;
    if (this.#form !== "custom") return true;
    this.#customArguments += text;
    return false;
  }

  end(): string | undefined {
    if (this.#form !== "custom") return undefined;
    return this.#head + JSON.stringify(unwrapCustomInput(this.#customArguments)) + this.#tail;
  }

  #formOf(name: string): Form {
    const { legacyFunctions, codeTool, customTools } = this.#options;
    if (legacyFunctions) return "legacy";
    if (name === codeTool) return "code";
    return customTools.has(name) ? "custom" : "function";
  }
}

const CUSTOM = '"custom":{"input":';
