/** The `o200k_harmony` vocabulary: the tokens of `o200k_base` and Harmony's special ids. */

import ranks from "js-tiktoken/ranks/o200k_base";
import { FIRST_SPECIAL_ID, specialTokenName } from "./special-tokens.ts";
import type { StreamingDecoder, TokenId, Tokenizer } from "./tokenizer.ts";

let shared: Tokenizer | undefined;
let bytesById: string[] = [];

/** The tokenizer, built at the first call and shared by all later ones. */
export function o200kHarmony(): Tokenizer {
  return (shared ??= build());
}

/** The text of one id that is valid UTF-8 alone; `undefined` for special ids, unknown ids and parts of characters. */
export function tokenText(id: TokenId): string | undefined {
  o200kHarmony();
  const bytes = bytesById[id];
  if (bytes === undefined || id >= FIRST_SPECIAL_ID) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(toBytes(bytes));
  } catch {
    return undefined;
  }
}

/** A decoder for ids that arrive one by one. */
export function createDecoder(): StreamingDecoder {
  return o200kHarmony().createDecoder();
}

function build(): Tokenizer {
  const [, , ...tokens] = ranks.bpe_ranks.split(" ");
  bytesById = tokens.map((token) => atob(token));
  const idByBytes = new Map(bytesById.map((bytes, id) => [bytes, id]));
  const pieces = new RegExp(
    ranks.pat_str.replaceAll("\\s", "\\p{White_Space}").replaceAll("\\S", "\\P{White_Space}"),
    "gu",
  );
  const encoder = new TextEncoder();

  function encode(text: string): TokenId[] {
    const ids: TokenId[] = [];
    for (const [piece] of text.toWellFormed().matchAll(pieces)) {
      const bytes = encoder.encode(piece);
      let parts = Array.from(bytes, (byte) => String.fromCharCode(byte));
      while (parts.length > 1) {
        let best = Infinity;
        let at = -1;
        for (let i = 0; i + 1 < parts.length; i++) {
          const rank = idByBytes.get(`${parts[i]}${parts[i + 1]}`) ?? Infinity;
          if (rank < best) [best, at] = [rank, i];
        }
        if (at < 0) break;
        parts = [...parts.slice(0, at), `${parts[at]}${parts[at + 1]}`, ...parts.slice(at + 2)];
      }
      for (const part of parts) ids.push(idByBytes.get(part) ?? 0);
    }
    return ids;
  }

  function create(): StreamingDecoder {
    let decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    return {
      push: (id) =>
        decoder.decode(toBytes(bytesById[id] ?? specialTokenName(id) ?? ""), { stream: true }),
      end() {
        const rest = decoder.decode();
        decoder = new TextDecoder("utf-8", { ignoreBOM: true });
        return rest;
      },
    };
  }

  return {
    encode,
    decode(ids) {
      const decoder = create();
      return ids.map((id) => decoder.push(id)).join("") + decoder.end();
    },
    createDecoder: create,
  };
}

function toBytes(latin1: string): Uint8Array {
  return Uint8Array.from(latin1, (char) => char.charCodeAt(0));
}
