/** Splits engine tokens into the smallest units, and tells whether a turn can end inside a batch. */
import type { EngineTokens, TokenLogprob } from "../../engines/engine.ts";
import { isSpecial, type TokenId } from "../../tokenizer/index.ts";

export type TextTokens = Extract<EngineTokens, { type: "text" }>;

/** Whether the turn may end before the last of these tokens. Only a control token ends it. */
export function endsWithin(tokens: EngineTokens): boolean {
  switch (tokens.type) {
    case "ids":
      for (let at = tokens.ids.length - 2; at >= 0; at--) {
        if (isSpecial(tokens.ids[at] ?? 0)) return true;
      }
      return false;
    case "pieces":
      return tokens.pieces.slice(0, -1).some((piece) => "special" in piece);
    case "text": {
      const marker = tokens.text.indexOf("|>");
      return marker >= 0 && marker + 2 < tokens.text.length;
    }
    default:
      return tokens satisfies never;
  }
}

/**
 * Splits ids behind each control token, the only ones that end a turn, and into parts of at most `room()` ids, which is
 * asked before each part. A short answer that arrives in one read is three parts instead of one for each token.
 */
export function* behindControlTokens(
  ids: readonly TokenId[],
  room: () => number,
): Generator<EngineTokens> {
  for (let from = 0; from < ids.length;) {
    const most = Math.min(ids.length, from + room());
    let to = from + 1;
    while (to < most && !isSpecial(ids[to - 1] ?? 0)) to++;
    yield { type: "ids", ids: ids.slice(from, to) };
    from = to;
  }
}

/** Yields the same tokens in the smallest units at which something can begin or end. */
export function* oneByOne(tokens: EngineTokens): Generator<EngineTokens> {
  switch (tokens.type) {
    case "ids":
      for (const [index, id] of tokens.ids.entries()) {
        const logprob: TokenLogprob | undefined = tokens.logprobs?.[index];
        yield { type: "ids", ids: [id], ...(logprob && { logprobs: [logprob] }) };
      }
      return;
    case "pieces":
      for (const [index, piece] of tokens.pieces.entries()) {
        yield { type: "pieces", pieces: [piece], counts: [tokens.counts[index] ?? 0] };
      }
      return;
    case "text":
      // By code unit: the parser joins markers and characters again.
      for (let at = 0; at < tokens.text.length; at++) yield textUnit(tokens, at, at + 1);
      return;
    default:
      tokens satisfies never;
  }
}

/**
 * Characters `from` to `to` of a text. If the engine counted the whole text, its tokens are assumed to be of
 * equal length, and each counts where it begins.
 */
export function textUnit(tokens: TextTokens, from: number, to: number): TextTokens {
  const text = tokens.text.slice(from, to);
  const { tokens: total } = tokens;
  if (total === undefined) return { type: "text", text };
  const begunBy = (at: number) => Math.ceil((at * total) / tokens.text.length);
  return { type: "text", text, tokens: begunBy(to) - begunBy(from) };
}
