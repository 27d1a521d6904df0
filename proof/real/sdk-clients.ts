/**
 * Runs clients in other languages against the gateway and writes what it saw to `docs/clients/sdks.md`.
 *
 *     proof/real/setup-sdks.sh && node proof/real/sdk-clients.ts
 *
 * Each works through a task of three calls in front of a scripted model, over each API it has, plain and streamed, and
 * names a model that the demo engine does not have.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Program, runAll, toTable } from "./client-runs.ts";

const HERE = import.meta.dirname;
const TABLE = join(HERE, "../../docs/clients/sdks.md");
const classPath = readFileSync(join(HERE, ".sdks/java-classpath"), "utf8");

const rows = await runAll([
  program("go-openai 1.43.0", "go/main.go", [".sdks/go-client"]),
  program("async-openai 0.43.0", "rust/src/main.rs", [".sdks/rust/debug/client"]),
  program("openai-java 4.101.0", "java/Client.java", [
    "java",
    "-cp",
    classPath,
    "java/Client.java",
  ]),
  program("@ai-sdk/deepseek 3.0.56", "deepseek/client.mjs", [
    process.execPath,
    "deepseek/client.mjs",
  ]),
]);
writeFileSync(
  TABLE,
  `# Clients in Go, Rust and Java, and \`@ai-sdk/deepseek\`

Written by \`node proof/real/sdk-clients.ts\` on ${new Date().toISOString().slice(0, 10)}, in the way of the [Python packages](python.md).
async-openai has no member for reasoning: the gateway restores it by the call's id. openai-java checks each reply
and event against its types (\`responseValidation\`).

${toTable(rows)}
`,
);

function program(client: string, script: string, command: Program["command"]): Program {
  return { client, script, command, task: "walk" };
}
