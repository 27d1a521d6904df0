/**
 * Cuts what the model has written into messages, at the end of each call of the client's, and keeps those that may be put
 * back into a later prompt: the ones that the turn's parser has read without a repair. A malformed header that is put back
 * would teach the model to write more of them.
 */
import { digestOf, type IdsDigest, joinDigests, NO_IDS } from "../../harmony/ids-digest.ts";
import type { MessagePrefixes } from "../../harmony/message-prefixes.ts";
import type { RenderedPrompt } from "../../harmony/prompt.ts";
import { isReplayable } from "../../harmony/read-span.ts";
import { CALL } from "../../harmony/tokens.ts";
import type { Tokenizer } from "../../tokenizer/index.ts";
import type { MessageStart, Transcript } from "../prompt/transcript.ts";
import type { SampledSpan, SampledStep } from "../../harmony/sampled-step.ts";

interface CutterDeps {
  readonly prompt: RenderedPrompt;
  readonly transcript: Transcript;
  readonly tokenizer: Tokenizer;
  readonly prefixes: Pick<MessagePrefixes, "assistant">;
  /** How many repairs the turn's parser has made. */
  readonly countRepairs: () => number;
}

/** A turn begins behind `<|start|>assistant`. */
const FIRST: MessageStart = { at: 0, before: 0, repairs: 0 };

export class StepCutter {
  readonly #deps: CutterDeps;
  /** Of all ids up to the call before. Undefined: there was none. */
  #before: IdsDigest | undefined;
  /** The call before ended without a token: the engine does not return it. */
  #hasHiddenEnd = false;

  constructor(deps: CutterDeps) {
    this.#deps = deps;
  }

  /** A call has just ended. */
  cut(): SampledStep {
    const { prompt, transcript, tokenizer, prefixes, countRepairs } = this.#deps;
    const isFirst = this.#before === undefined;
    const start = this.#before ?? digestOfMessages(prompt);
    const { ids, starts, isText } = transcript.take(isFirst ? prefixes.assistant : []);
    const skipped = this.#hasHiddenEnd && ids[0] === CALL ? 1 : 0;
    if (skipped > 0) ids.shift();
    this.#hasHiddenEnd = ids.at(-1) !== CALL;
    if (this.#hasHiddenEnd) ids.push(CALL);
    const end = joinDigests(start, digestOf(ids));
    this.#before = end;

    const messages: MessageStart[] = isFirst ? [FIRST, ...starts] : [...starts];
    const spans: SampledSpan[] = [];
    for (const [index, { at: from, repairs }] of messages.entries()) {
      const next = messages[index + 1] ?? { at: Infinity, before: countRepairs() };
      const own = ids.slice(from - skipped, next.at - skipped);
      const isClean = next.before === repairs && isReplayable(own, tokenizer);
      if (isClean) spans.push({ at: from - skipped, ids: own });
    }
    return { start, end, spans, isText };
  }
}

/** The messages of a prompt, without the header that the model continues. */
function digestOfMessages({ segments }: RenderedPrompt): IdsDigest {
  let digest = NO_IDS;
  for (const segment of segments) {
    if (segment.type === "rendered" && segment.message === undefined) break;
    if (segment.type === "appended") digest = joinDigests(digest, digestOf(segment.ids));
    else for (const piece of segment.pieces) digest = joinDigests(digest, piece.digest());
  }
  return digest;
}
