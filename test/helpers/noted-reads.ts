/** The reads that notes of ids are about. */
import type { TokenId } from "../../src/tokenizer/index.ts";
import { idOf, SAME_READ, timeOf, type TokenNote } from "../../src/turn/token-notes.ts";

export function readsOf(notes: Iterable<TokenNote>): { time: number; ids: TokenId[] }[] {
  const reads: { time: number; ids: TokenId[] }[] = [];
  for (const note of notes) {
    const last = reads.at(-1);
    if (timeOf(note) !== SAME_READ) reads.push({ time: timeOf(note), ids: [idOf(note)] });
    else if (last === undefined) throw new Error("a read has no first id");
    else last.ids.push(idOf(note));
  }
  return reads;
}
