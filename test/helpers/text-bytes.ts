import { TextBytes } from "../../src/tokenizer/text-bytes.ts";

/** A text in UTF-8, in the encoder's form. */
export function toBytes(text: string): TextBytes {
  const bytes = new TextBytes(text.length);
  bytes.write(text);
  return bytes;
}
