/**
 * Runs clients in other languages against the gateway and writes the results to `docs/evidence/sdks.md`.
 *
 *     proof/real/setup-sdks.sh && node proof/real/sdk-clients.ts
 *     node proof/real/sdk-clients.ts go/main.go    # only this; the results of the others stay
 *
 * Each works through a task of three calls in front of a scripted model, over each API it has, plain and streamed, and
 * names a model that the demo engine does not have.
 */
import { parseArgs } from "node:util";
import { toTable } from "./client-results.ts";
import { choose, type Program, runAll } from "./client-runs.ts";
import { writeFormatted } from "../../scripts/write-formatted.ts";

const PROGRAMS: readonly Program[] = [
  program("go-openai 1.43.0", "go/main.go", [".sdks/go-client"]),
  program("async-openai 0.43.0", "rust/src/main.rs", [".sdks/rust/debug/client"]),
  java("openai-java 4.101.0", "java"),
  java("LangChain4j 1.19.0", "langchain4j"),
  node("Mastra 1.71.0", "mastra.mjs"),
  node("@openrouter/sdk 1.3.19", "openrouter.mjs"),
  node("@ai-sdk/deepseek 3.0.56", "deepseek.mjs"),
];

const { positionals } = parseArgs({ allowPositionals: true });
await runAll(choose(PROGRAMS, positionals));
writeFormatted(
  "docs/evidence/sdks.md",
  `# Clients in Go, Rust, Java and TypeScript

Written by \`node proof/real/sdk-clients.ts\`, with the tasks of the [Python packages](python.md).
async-openai has no member for reasoning, and LangChain4j does not send it by default: the gateway restores it by the call's id.
openai-java checks each reply and event against its types (\`responseValidation\`), \`@openrouter/sdk\` parses them with its schemas.

${toTable(PROGRAMS.map(({ script }) => script))}
`,
);

function java(client: string, folder: string): Program {
  const run = `exec java -cp "$(cat .sdks/${folder}-classpath)" ${folder}/Client.java`;
  return program(client, `${folder}/Client.java`, ["sh", "-c", run]);
}

function node(client: string, file: string): Program {
  const script = `javascript/${file}`;
  return program(client, script, [process.execPath, script]);
}

function program(client: string, script: string, command: Program["command"]): Program {
  return { client, script, command, task: "walk" };
}
