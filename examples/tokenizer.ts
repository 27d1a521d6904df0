/** Text to token ids and back, as a whole and id by id. Run: `node examples/tokenizer.ts` */

import {
  createDecoder,
  isSpecial,
  o200kHarmony,
  SPECIAL_TOKENS,
  tokenBytes,
  tokenText,
} from "../src/tokenizer/index.ts";

const tokenizer = o200kHarmony();

// User input is always text: no spelling becomes a special token.
const typed = tokenizer.encode("Hello, <|end|> 世界 🫠");
console.log("ids:", typed.join(" "));
console.log("text:", tokenizer.decode(typed));
console.log("any special:", typed.some(isSpecial));

// Special ids are put in by the program.
const { "<|start|>": start, "<|message|>": body } = SPECIAL_TOKENS;
const header = [start, ...tokenizer.encode("user"), body];
console.log("header:", header.join(" "), "=", tokenizer.decode(header));

// A character may take several tokens. The decoder waits for the last of them.
const decoder = createDecoder();
for (const id of tokenizer.encode("So 🫠")) {
  const bytes = Array.from(tokenBytes(id) ?? []).join(" ");
  console.log(`${id} gives ${JSON.stringify(decoder.push(id))}, alone ${tokenText(id)}: ${bytes}`);
}
console.log("rest:", JSON.stringify(decoder.end()));
