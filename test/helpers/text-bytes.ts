import { TextBytes } from "../../src/tokenizer/text-bytes.ts";

/** A text in UTF-8, as encoding reads it. */
export function toBytes(text: string): TextBytes {
  const bytes = new TextBytes(text.length);
  bytes.write(text);
  return bytes;
}
