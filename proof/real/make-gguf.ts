/** Prints the path of the tiny gpt-oss model file, which is made first where it is missing. */
import { tinyGptOss } from "../../test/helpers/tiny-gpt-oss.ts";

process.stdout.write(`${await tinyGptOss({ canTokenize: true })}\n`);
