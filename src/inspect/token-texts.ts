/** The texts of all tokens in a record, so that the page needs no vocabulary. */
import { isSpecial, specialTokenName, tokenBytes, type TokenId } from "../tokenizer/index.ts";
import { SLICE, type Sliced } from "../telemetry/record/slices.ts";
import type { RecordedIds, TurnRecord } from "../telemetry/record/schema.ts";

/** By id: the text of a token, or an array of its bytes where they are only part of a character. */
export type TokenTexts = Record<number, string | readonly number[]>;

export function* toTokenTexts(record: TurnRecord): Sliced<TokenTexts> {
  let reads = 0;
  const texts: TokenTexts = {};
  const add = (ids: RecordedIds | undefined): void => {
    if (!Array.isArray(ids)) return;
    for (const id of ids) texts[id] ??= textOf(id);
  };
  add(record.prompt?.ids);
  for (const call of record.calls) {
    add(call.appended);
    add(call.stopIds);
    for (const read of call.reads) {
      if ("ids" in read) add(read.ids);
      else if ("pieces" in read)
        add(read.pieces.flatMap((piece) => ("special" in piece ? [piece.special] : [])));
      if (++reads % SLICE === 0) yield;
    }
  }
  return texts;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function textOf(id: TokenId): string | readonly number[] {
  if (isSpecial(id)) return specialTokenName(id) ?? "";
  const bytes = tokenBytes(id);
  if (bytes === undefined) return `[${id}]`;
  try {
    return decoder.decode(bytes);
  } catch {
    return [...bytes];
  }
}
