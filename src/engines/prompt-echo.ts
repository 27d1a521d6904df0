/**
 * Checks what a server repeats of the request that it answers. One response too many, of a faulty server or proxy, shifts all later ones
 * on its connection by one: an answer would go to another request, and so to another tenant.
 */
import { EngineError } from "./engine-error.ts";
import type { Prompt } from "./engine.ts";
import { isCallName } from "./request-body.ts";
import { asList, parseJson } from "./untyped-json.ts";

/** The id of a completion, which servers derive from the name of the call, in their first member. */
const NAME = /"(?:id|request_id)":\s?"([^"\\]*)"/;
const MAX_NAME_AT = 1000;
const IDS_KEY = '"prompt_token_ids":[';

/** Each check throws an {@link EngineError} if the answer is not that of this request. What is not repeated is not checked. */
export class PromptEcho {
  readonly #serverName: string;
  /** The number of tokens in the prompt. */
  readonly tokens: number;
  readonly #callName: string;
  /** Undefined once its ids have been compared: a stream does not keep its prompt. */
  #prompt: Prompt | undefined;

  constructor(serverName: string, prompt: Prompt, callName: string) {
    this.#serverName = serverName;
    this.tokens = prompt.ids.length;
    this.#callName = callName;
    this.#prompt = prompt;
  }

  /**
   * Compares the name of the call and the ids of the prompt in the first event of a stream, as text: to parse the ids of a long prompt
   * would take longer than the rest of the request. Does nothing for later events.
   */
  expectFirst(event: string): void {
    const prompt = this.#prompt;
    if (prompt === undefined) return;
    this.#prompt = undefined;
    // A quote within a JSON string is escaped, so that sampled text can contain neither key.
    this.expectName(NAME.exec(event.slice(0, MAX_NAME_AT))?.[1]);
    const at = event.indexOf(IDS_KEY);
    if (at === -1) return;
    const from = at + IDS_KEY.length;
    if (!hasIdsAt(event, from, prompt) && !repeats(event, from, prompt)) throw this.#mismatch();
  }

  /** A number that no prompt can have, such as −5 or 0, is a server's fault in counting, and names no other prompt. */
  expectCount(tokens: number | null | undefined): void {
    if (tokens != null && tokens >= 1 && tokens !== this.tokens) {
      throw this.#mismatch(`${tokens} tokens instead of ${this.tokens}`);
    }
  }

  /** @param name the name of the call, possibly with a prefix. Servers that choose their own names do not choose one like ours. */
  expectName(name: unknown): void {
    if (typeof name !== "string" || !isCallName(name)) return;
    if (!name.endsWith(this.#callName)) throw this.#mismatch();
  }

  #mismatch(detail?: string): EngineError {
    const what = detail === undefined ? "" : ` (a prompt of ${detail})`;
    return new EngineError(
      "server-error",
      `${this.#serverName} sent the answer to another request${what}. Is there a proxy that mixes up responses, or changes prompts?`,
    );
  }
}

/** Whether exactly these ids stand in the text, in the form in which they were sent. */
function hasIdsAt(event: string, from: number, prompt: Prompt): boolean {
  const decoder = new TextDecoder("latin1");
  let at = from;
  for (const bytes of prompt.idsJson()) {
    const text = decoder.decode(bytes);
    // There is a comma before each id, and none before the first one here.
    const part = at === from ? text.slice(1) : text;
    if (!event.startsWith(part, at)) return false;
    at += part.length;
  }
  return event[at] === "]";
}

/** The same for any other form: with blanks, for instance. */
function repeats(event: string, from: number, { ids }: Prompt): boolean {
  const end = event.indexOf("]", from);
  const found = asList(parseJson(`[${event.slice(from, end)}]`));
  return found.length === ids.length && ids.every((id, at) => id === found[at]);
}
