/** Decodes base64 of megabytes, in steps. */
import type { Pause } from "../../streams/slices.ts";
import { byteCount } from "./media-part.ts";

/** Characters between two pauses, a multiple of four: a few milliseconds. */
const STEP = 1_048_576;

/** Undefined: the text is not base64. */
export async function decodeBase64(
  base64: string,
  pause: Pause,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const bytes = new Uint8Array(byteCount(base64));
  let at = 0;
  try {
    for (let from = 0; from < base64.length; from += STEP) {
      if (from > 0) await pause();
      const binary = atob(base64.slice(from, from + STEP));
      for (let index = 0; index < binary.length; index++) bytes[at++] = binary.charCodeAt(index);
    }
  } catch (error) {
    if (error instanceof DOMException) return undefined;
    throw error;
  }
  return bytes;
}
