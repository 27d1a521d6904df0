/**
 * Writes `src/tokenizer/vocabulary.json`, the ordinary tokens of `o200k_base`, from js-tiktoken's copy of
 * them:
 *
 *     node scripts/write-vocabulary.ts
 */
import { writeFileSync } from "node:fs";
import { packVocabulary } from "./pack-vocabulary.ts";

const target = new URL("../src/tokenizer/vocabulary.json", import.meta.url);
writeFileSync(target, `${JSON.stringify(packVocabulary())}\n`);
