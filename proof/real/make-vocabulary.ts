/**
 * Writes `o200k_base.tiktoken` into a folder. The packages openai-harmony and tiktoken read that file from the folder
 * named by `TIKTOKEN_ENCODINGS_BASE` and would otherwise download it.
 *
 *     node proof/real/make-vocabulary.ts FOLDER
 */
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ranks from "js-tiktoken/ranks/o200k_base";

/** Hash of the published file; openai-harmony rejects any other. */
const SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d";

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("usage: node proof/real/make-vocabulary.ts FOLDER");
const lines = ranks.bpe_ranks.split("\n").flatMap((line) => {
  const [, offset, ...tokens] = line.split(" ");
  return tokens.map((token, index) => `${token} ${Number(offset) + index}\n`);
});
const file = lines.join("");
const found = createHash("sha256").update(file).digest("hex");
if (found !== SHA256) throw new Error(`the vocabulary differs from the published one: ${found}`);
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "o200k_base.tiktoken"), file);
