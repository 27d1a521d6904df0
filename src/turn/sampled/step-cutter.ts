/**
 * Cuts the model's output into messages at the end of each client call, and keeps the messages that the turn's parser
 * has read without a repair. Only these may be restored in a later prompt: a restored malformed header would teach the
 * model to write more of them.
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
  /** The number of repairs by the turn's parser. */
  readonly countRepairs: () => number;
}

/** A turn begins after `<|start|>assistant`. */
const FIRST: MessageStart = { at: 0, before: 0, repairs: 0 };

export class StepCutter {
  readonly #deps: CutterDeps;
  /** Digest of all ids up to the previous call. Undefined: there was no call. */
  #before: IdsDigest | undefined;
  /** Whether the previous call ended without a token, because the engine does not return it. */
  #hasHiddenEnd = false;

  constructor(deps: CutterDeps) {
    this.#deps = deps;
  }

  /** Called when a call has just ended. Returns its step. */
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

/** Digest of a prompt's messages, without the header that the model continues. */
function digestOfMessages({ segments }: RenderedPrompt): IdsDigest {
  let digest = NO_IDS;
  for (const segment of segments) {
    if (segment.type === "rendered" && segment.message === undefined) break;
    if (segment.type === "appended") digest = joinDigests(digest, digestOf(segment.ids));
    else for (const piece of segment.pieces) digest = joinDigests(digest, piece.digest());
  }
  return digest;
}
