/**
 * The tokenizer by its definition: the pattern as a regular expression, the merge as a loop
 * over all pairs. Slow, and easy to verify.
 */

import o200kBase from "js-tiktoken/ranks/o200k_base";
import type { TokenId } from "../../src/tokenizer/index.ts";

/** Tokens by their bytes, written one byte to a character. */
const ID_BY_BYTES = new Map(
  o200kBase.bpe_ranks
    .split(" ")
    .slice(2)
    .map((base64, id) => [atob(base64), id]),
);

const UPPER = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`;
const LOWER = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`;
const LEAD = String.raw`[^\r\n\p{L}\p{N}]?`;
const CONTRACTION = `(?:'[sSſ]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?`;
const PIECE = new RegExp(
  [
    `${LEAD}${UPPER}*${LOWER}+${CONTRACTION}`,
    `${LEAD}${UPPER}+${LOWER}*${CONTRACTION}`,
    String.raw`\p{N}{1,3}`,
    String.raw` ?[^\p{White_Space}\p{L}\p{N}]+[\r\n/]*`,
    String.raw`\p{White_Space}*[\r\n]+`,
    String.raw`\p{White_Space}+(?!\P{White_Space})`,
    String.raw`\p{White_Space}+`,
  ].join("|"),
  "gu",
);

/** The pretokens of a text, under the Unicode version of the engine. */
export function referencePretokens(text: string): string[] {
  return text.match(PIECE) ?? [];
}

/** The ids of the units that merging ends with; -1 for bytes that are no token. */
export function referenceMerge(bytes: Uint8Array): TokenId[] {
  const units = Array.from(bytes, (byte) => String.fromCharCode(byte));
  for (;;) {
    let lowest = Infinity;
    let at = -1;
    for (let i = 0; i + 1 < units.length; i++) {
      const rank = ID_BY_BYTES.get(`${units[i]}${units[i + 1]}`) ?? Infinity;
      if (rank < lowest) [lowest, at] = [rank, i];
    }
    if (at < 0) break;
    units.splice(at, 2, `${units[at]}${units[at + 1]}`);
  }
  return units.map((unit) => ID_BY_BYTES.get(unit) ?? -1);
}
