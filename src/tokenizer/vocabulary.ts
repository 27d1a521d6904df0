/**
 * The ordinary tokens of `o200k_base`, packed as described in `token-bytes.ts`. The data is OpenAI's, published with tiktoken
 * under the MIT licence; scripts/write-vocabulary.ts generates the file. JSON, because V8 reads such a text faster than as a
 * literal in a module.
 */
import text from "./vocabulary.json" with { type: "json" };

export function vocabulary(): string {
  return text;
}
