/** `npm run docs:check`: every command in README and docs, one line each with what is wrong or why it is not run. */
import { join } from "node:path";
import { checkCommand, findPages, NOT_RUN, readCommands } from "./docs-commands.ts";

const ROOT = join(import.meta.dirname, "..");
let failed = 0;

for (const page of findPages(ROOT)) {
  for (const { where, command } of readCommands(ROOT, page)) {
    const problem = await checkCommand(ROOT, command);
    const reason = NOT_RUN[command.split(" ")[0] ?? ""];
    if (problem !== undefined) failed += 1;
    const verdict =
      problem === undefined ? (reason ? `not run: ${reason}` : "ok") : `WRONG: ${problem}`;
    console.log(`${where}  ${command.slice(0, 80)}\n    ${verdict}`);
  }
}
console.log(`\n${failed} wrong`);
process.exitCode = failed > 0 ? 1 : 0;
