/**
 * Checks the parts of the request that a server repeats in its answer. One surplus response, of a faulty server or proxy, shifts
 * all later ones on its connection by one: a request would get the answer of another request, and so of another tenant.
 */
import { EngineError } from "./engine-error.ts";
import type { Prompt } from "./engine.ts";
import { isCallName } from "./request-body.ts";
import { asList, parseJson } from "./untyped-json.ts";

/** The id of a completion, in the first member. Servers derive it from the name of the call. */
const NAME = /"(?:id|request_id)":\s?"([^"\\]*)"/;
const MAX_NAME_AT = 1000;
const IDS_KEY = '"prompt_token_ids":[';

/**
 * Each check throws an {@link EngineError} if the answer belongs to another request. Fields that a server does not repeat are not
 * checked.
 */
export class PromptEcho {
  readonly #serverName: string;
  /** The number of tokens in the prompt. */
  readonly tokens: number;
  readonly #callName: string;
  /** Undefined after its ids have been compared: a stream does not keep its prompt. */
  #prompt: Prompt | undefined;

  constructor(serverName: string, prompt: Prompt, callName: string) {
    this.#serverName = serverName;
    this.tokens = prompt.length;
    this.#callName = callName;
    this.#prompt = prompt;
  }

  /**
   * Compares the name of the call and the ids of the prompt in the first event of a stream, as text: parsing the ids of a long
   * prompt would take longer than the rest of the request. Has no effect on later events.
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

  /**
   * Checks the number of prompt tokens. An impossible number, such as −5 or 0, is a server's fault in counting, and identifies no
   * other prompt.
   */
  expectCount(tokens: number | null | undefined): void {
    if (tokens != null && tokens >= 1 && tokens !== this.tokens) {
      throw this.#mismatch(`${tokens} tokens instead of ${this.tokens}`);
    }
  }

  /** @param name the name of the call, possibly with a prefix. A server's own names differ in form from ours. */
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

/** Whether the text contains exactly these ids, in the form in which they were sent. */
function hasIdsAt(event: string, from: number, prompt: Prompt): boolean {
  const decoder = new TextDecoder("latin1");
  let at = from;
  for (const bytes of prompt.idsJson()) {
    const text = decoder.decode(bytes);
    // Each id is preceded by a comma, except the first one here.
    const part = at === from ? text.slice(1) : text;
    if (!event.startsWith(part, at)) return false;
    at += part.length;
  }
  return event[at] === "]";
}

/** Compares the ids in any other form: with blanks, for instance. */
function repeats(event: string, from: number, { ids }: Prompt): boolean {
  const end = event.indexOf("]", from);
  const found = asList(parseJson(`[${event.slice(from, end)}]`));
  return found.length === ids.length && ids.every((id, at) => id === found[at]);
}
