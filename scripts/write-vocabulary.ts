/**
 * Writes `src/tokenizer/vocabulary.ts`, the ordinary tokens of `o200k_base`, from js-tiktoken's copy of
 * them:
 *
 *     node scripts/write-vocabulary.ts
 */
import { writeFileSync } from "node:fs";
import { packVocabulary } from "./pack-vocabulary.ts";

const target = new URL("../src/tokenizer/vocabulary.ts", import.meta.url);
writeFileSync(
  target,
  `/**
 * The ordinary tokens of \`o200k_base\`, packed as \`token-bytes.ts\` says. The data is OpenAI's, published
 * with tiktoken under the MIT licence. Made by scripts/write-vocabulary.ts.
 *
 * A function, so that the text is not read before it is asked for, and not kept when it has been.
 */
export function vocabulary(): string {
  return "${packVocabulary()}";
}
`,
);
