/** The texts of all tokens in a record, so that the page needs no vocabulary. */
import { isSpecial, specialTokenName, tokenBytes, type TokenId } from "../tokenizer/index.ts";
import { SLICE, type RecordSlices } from "../telemetry/record/build-slices.ts";
import type { RecordedIds, TurnRecord } from "../telemetry/record/schema.ts";

/** By id: the text of a token, or its bytes if they are only a part of a character. */
export type RecordTexts = Record<number, string | readonly number[]>;

export function* toRecordTexts(record: TurnRecord): RecordSlices<RecordTexts> {
  let seen = 0;
  const texts: RecordTexts = {};
  for (const id of idsIn(record)) {
    texts[id] ??= textOf(id);
    if (++seen % SLICE === 0) yield;
  }
  return texts;
}

function* idsIn({ prompt, calls }: TurnRecord): Generator<TokenId> {
  yield* listed(prompt?.ids);
  for (const call of calls) {
    yield* listed(call.appended);
    yield* call.stopIds;
    for (const read of call.reads) {
      if ("ids" in read) yield* listed(read.ids);
      if (!("pieces" in read)) continue;
      for (const piece of read.pieces) if ("special" in piece) yield piece.special;
    }
  }
}

function listed(ids: RecordedIds | undefined): readonly TokenId[] {
  return Array.isArray(ids) ? ids : [];
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
