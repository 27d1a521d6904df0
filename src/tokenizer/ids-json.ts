/** Token ids as the elements of a JSON array. */
import type { TokenId } from "./tokenizer.ts";

const utf8 = new TextEncoder();

/** Ids as JSON in UTF-8, each after a comma: `,200006,17360`. The bytes of several lists can be joined as they are. */
export function toIdsJson(ids: readonly TokenId[] | Uint32Array): Uint8Array<ArrayBuffer> {
  return utf8.encode(ids.length === 0 ? "" : `,${ids.join(",")}`);
}
