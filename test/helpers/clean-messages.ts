/**
 * Finds the messages of a step that may be restored, by reading the whole step a second time. It is the oracle of
 * `step-cutter.ts`, which learns the repairs from the turn's own parser.
 */
import { formOf } from "../../src/harmony/call-form.ts";
import {
  CALL,
  createParser,
  type Parser,
  type ParserOptions,
  START,
} from "../../src/harmony/index.ts";
import { isEmptyThought, readSpan } from "../../src/harmony/read-span.ts";
import { o200kHarmony, type TokenId } from "../../src/tokenizer/index.ts";
import type { SampledSpan } from "../../src/harmony/sampled-step.ts";

const tokenizer = o200kHarmony();

/** @param ids from the first message of the step to the end of the call */
export function findCleanMessages(
  ids: readonly TokenId[],
  call: { readonly name: string; readonly text: string },
  parsing: ParserOptions,
): SampledSpan[] {
  const spans = splitAtStarts(ids);
  const reader = new CleanReader(parsing);
  return spans.filter((span, index) =>
    reader.isClean(span.ids, index === spans.length - 1 ? call : undefined),
  );
}

function splitAtStarts(ids: readonly TokenId[]): SampledSpan[] {
  const starts: number[] = [];
  for (let at = ids.indexOf(START); at >= 0; at = ids.indexOf(START, at + 1)) starts.push(at);
  return starts.map((at, index) => ({ at, ids: ids.slice(at, starts[index + 1]) }));
}

/** Reads messages one after the other, like the turn's parser. */
class CleanReader {
  readonly #parsing: ParserOptions;
  #parser: Parser | undefined;

  constructor(parsing: ParserOptions) {
    this.#parsing = parsing;
  }

  isClean(ids: readonly TokenId[], call: { name: string; text: string } | undefined): boolean {
    if (readSpan(ids, tokenizer) === undefined) {
      this.#parser = undefined;
      return false;
    }
    const open = this.#parser;
    const isOpen = open !== undefined && !open.done;
    const parser = isOpen ? open : createParser(tokenizer, this.#parsing);
    this.#parser = parser;
    // A parser begins after `<|start|>assistant`.
    const events = parser.pushIds(ids.slice(isOpen ? 0 : 2));
    if (ids.at(-1) === CALL) {
      events.push(...parser.end("stop"));
      this.#parser = undefined;
    }
    if (parser.recoveries.size > 0) {
      this.#parser = undefined;
      return false;
    }
    const [start, ...others] = events.flatMap((event) =>
      event.type === "part-start" ? [event] : [],
    );
    if (start === undefined) {
      const span = readSpan(ids, tokenizer);
      return span !== undefined && isEmptyThought(span);
    }
    if (others.length > 0 || start.part === "content") return false;
    const isCall = start.part === "tool-call" || start.part === "builtin-call";
    if (isCall && formOf(start.header) === undefined) return false;
    if (call === undefined) return true;
    const text = events.flatMap((event) => (event.type === "part-delta" ? [event.text] : []));
    return start.part === "tool-call" && start.name === call.name && text.join("") === call.text;
  }
}
