/**
 * Splits engine tokens into units in which nothing ends before their last token. Ids are counted by id, pieces by piece, and text by
 * UTF-16 code unit: the parser joins markers and characters again.
 */
import type { EngineTokens } from "../../engines/engine.ts";
import { isSpecial } from "../../tokenizer/index.ts";

type TextTokens = Extract<EngineTokens, { type: "text" }>;

/** The number of ids, pieces or code units. */
export function sizeOf(tokens: EngineTokens): number {
  switch (tokens.type) {
    case "ids":
      return tokens.ids.length;
    case "pieces":
      return tokens.pieces.length;
    case "text":
      return tokens.text.length;
    default:
      return tokens satisfies never;
  }
}

/**
 * The end of the unit that begins at `from`: after a control token, because only control tokens can end a turn, or
 * after `most` ids or code units. A piece is a unit: cutting inside it would leave part of a token in the transcript.
 */
export function unitEnd(tokens: EngineTokens, from: number, most: number): number {
  switch (tokens.type) {
    case "ids": {
      const { ids } = tokens;
      const last = Math.min(ids.length, from + most);
      let end = from + 1;
      while (end < last && !isSpecial(ids[end - 1] ?? 0)) end++;
      return end;
    }
    case "pieces":
      return from + 1;
    case "text": {
      const last = Math.min(tokens.text.length, from + most);
      const marker = tokens.text.indexOf("|>", from);
      return marker === -1 ? last : Math.min(last, marker + 2);
    }
    default:
      return tokens satisfies never;
  }
}

/** The part of the tokens from `from` to `to`, in the counts of {@link sizeOf}. */
export function sliceTokens<T extends EngineTokens>(tokens: T, from: number, to: number): T;
export function sliceTokens(tokens: EngineTokens, from: number, to: number): EngineTokens {
  if (from === 0 && to === sizeOf(tokens)) return tokens;
  switch (tokens.type) {
    case "ids": {
      const logprobs = tokens.logprobs?.slice(from, to);
      return { ...tokens, ids: tokens.ids.slice(from, to), ...(logprobs && { logprobs }) };
    }
    case "pieces": {
      const { pieces, counts } = tokens;
      return { type: "pieces", pieces: pieces.slice(from, to), counts: counts.slice(from, to) };
    }
    case "text":
      return sliceText(tokens, from, to);
    default:
      return tokens satisfies never;
  }
}

/**
 * If the engine counted the whole text, its tokens are assumed to be of equal length, and each counts at its beginning.
 */
function sliceText(tokens: TextTokens, from: number, to: number): TextTokens {
  const text = tokens.text.slice(from, to);
  const { tokens: total } = tokens;
  if (total === undefined) return { type: "text", text };
  const begunBy = (at: number) => Math.ceil((at * total) / tokens.text.length);
  return { type: "text", text, tokens: begunBy(to) - begunBy(from) };
}

/** Splits tokens into the smallest units at which a part can begin or end. */
export function* oneByOne(tokens: EngineTokens): Generator<EngineTokens> {
  for (let at = 0; at < sizeOf(tokens); at++) yield sliceTokens(tokens, at, at + 1);
}
