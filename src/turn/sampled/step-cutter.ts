/**
 * Cuts what the model has written into messages, at the end of each call of the client's, and keeps those that may be put
 * back into a later prompt: the ones that the parser reads without a repair. A malformed header that is put back would
 * teach the model to write more of them.
 */
import { formOf } from "../../harmony/call-form.ts";
import { digestOf, type IdsDigest, joinDigests } from "../../harmony/ids-digest.ts";
import {
  createParser,
  type ParseEvent,
  type Parser,
  type ParserOptions,
} from "../../harmony/parse.ts";
import type { MessagePrefixes } from "../../harmony/message-prefixes.ts";
import type { RenderedPrompt } from "../../harmony/prompt.ts";
import { isEmptyThought, isSpan, readSpan } from "../../harmony/read-span.ts";
import { CALL, MESSAGE, START } from "../../harmony/tokens.ts";
import type { TokenId, Tokenizer } from "../../tokenizer/index.ts";
import { BEGINNING, type Transcript, type TranscriptPosition } from "../prompt/transcript.ts";
import { digestOfMessages, type SampledSpan, type SampledStep } from "./sampled-step.ts";

interface CutterDeps {
  readonly prompt: RenderedPrompt;
  readonly transcript: Transcript;
  readonly tokenizer: Tokenizer;
  readonly parsing: ParserOptions;
  readonly prefixes: Pick<MessagePrefixes, "assistant">;
}

export class StepCutter {
  readonly #deps: CutterDeps;
  /** Of all ids up to the call before. Undefined: there was none. */
  #before: IdsDigest | undefined;
  #position: TranscriptPosition = BEGINNING;
  /** The call before ended without a token: the engine does not return it. */
  #hasHiddenEnd = false;

  constructor(deps: CutterDeps) {
    this.#deps = deps;
  }

  /** The call whose arguments are `text` has just ended. */
  cut(name: string, text: string): SampledStep {
    const { prompt, transcript, prefixes } = this.#deps;
    const { ids: added, to, isText } = transcript.since(this.#position);
    const start = this.#before ?? digestOfMessages(prompt);
    const ids = this.#before === undefined ? [...prefixes.assistant, ...added] : added;
    if (this.#hasHiddenEnd && ids[0] === CALL) ids.shift();
    this.#hasHiddenEnd = ids.at(-1) !== CALL;
    if (this.#hasHiddenEnd) ids.push(CALL);
    const end = joinDigests(start, digestOf(ids));
    this.#before = end;
    this.#position = to;
    return { start, end, spans: this.#cleanSpans(ids, name, text), isText };
  }

  #cleanSpans(ids: readonly TokenId[], name: string, text: string): SampledSpan[] {
    const spans = splitAtStarts(ids);
    const reader = new CleanReader(this.#deps);
    return spans.filter((span, index) => {
      const call = index === spans.length - 1 ? { name, text } : undefined;
      return reader.isClean(span.ids, call);
    });
  }
}

function splitAtStarts(ids: readonly TokenId[]): SampledSpan[] {
  const starts: number[] = [];
  for (let at = ids.indexOf(START); at >= 0; at = ids.indexOf(START, at + 1)) starts.push(at);
  return starts.map((at, index) => ({ at, ids: ids.slice(at, starts[index + 1]) }));
}

/** Reads messages one after the other, as the turn's parser did. */
class CleanReader {
  readonly #deps: Pick<CutterDeps, "tokenizer" | "parsing">;
  #parser: Parser | undefined;

  constructor(deps: CutterDeps) {
    this.#deps = deps;
  }

  isClean(ids: readonly TokenId[], call: { name: string; text: string } | undefined): boolean {
    const { tokenizer, parsing } = this.#deps;
    if (!isSpan(ids, tokenizer)) {
      this.#parser = undefined;
      return false;
    }
    const open = this.#parser;
    const isOpen = open !== undefined && !open.done;
    const parser = isOpen ? open : createParser(tokenizer, parsing);
    this.#parser = parser;
    // A parser begins behind `<|start|>assistant`.
    const events = read(ids, isOpen ? 0 : 2, parser, call !== undefined);
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

/** Ids of a body after which the parser has begun its part. */
const FIRST_IDS = 16;

/** Only the text of a call is compared: that of a long thought is not worth its decoding at the end of a step. */
function read(
  ids: readonly TokenId[],
  from: number,
  parser: Parser,
  needsText: boolean,
): ParseEvent[] {
  const end = ids.length - 1;
  const begun = Math.min(ids.indexOf(MESSAGE) + 1 + FIRST_IDS, end);
  const events = parser.pushIds(ids.slice(from, begun));
  const rest = ids.slice(begun, end);
  if (!needsText && parser.canContinueBody(rest)) parser.countBody(rest.length);
  else events.push(...parser.pushIds(rest));
  events.push(...parser.pushIds(ids.slice(end)));
  return events;
}
