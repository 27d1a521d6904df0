/** Ids as logs keep them: a server may send any number. */
import type { TokenId } from "../../tokenizer/index.ts";

const UNUSUAL = 0x80_00_00_00;
/** Numbers from here on are not ids; logs use them for other purposes. */
export const LEAST_UNUSUAL = UNUSUAL;

function isPlain(id: TokenId): boolean {
  return id >= 0 && id < UNUSUAL;
}

/** Whether there are any, and all are plain. */
export function arePlain(ids: readonly TokenId[]): boolean {
  return ids.length > 0 && ids.every(isPlain);
}
