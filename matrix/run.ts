/**
 * Runs the released clients against the gateway and writes what it saw to `docs/clients/matrix.md`.
 *
 *     npm run matrix     # installs them first, hundreds of megabytes, into a folder of their own
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { claudeCode } from "./claude-code.ts";
import type { ClientResult, MatrixClient } from "./client.ts";

const CLIENTS: readonly MatrixClient[] = [claudeCode];
const TABLE = join(import.meta.dirname, "../docs/clients/matrix.md");

const { dependencies: versions } = z
  .object({ dependencies: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(join(import.meta.dirname, "package.json"), "utf8")));

const sections: string[] = [];
for (const client of CLIENTS) {
  const folder = mkdtempSync(join(tmpdir(), "harmony-gateway-matrix-"));
  try {
    const result = await client.run(folder);
    sections.push(toSection(client, result));
    if (!succeeded(result)) process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
writeFileSync(TABLE, toPage(sections));
console.log(sections.join("\n\n"));

function succeeded({ checks, thoughts }: ClientResult): boolean {
  return checks.every(({ passed }) => passed) && thoughts.had > 0 && thoughts.kept === thoughts.had;
}

function toSection(client: MatrixClient, { checks, thoughts }: ClientResult): string {
  const date = new Date().toISOString().slice(0, 10);
  const lines = checks.map(({ name, passed }) => `- ${passed ? "passed" : "**failed**"}: ${name}`);
  return [
    `## ${client.name} ${versions[client.package] ?? ""}`,
    "",
    `Run on ${date}. Thoughts kept: ${thoughts.kept} of ${thoughts.had}.`,
    "",
    ...lines,
  ].join("\n");
}

function toPage(all: readonly string[]): string {
  return `# Clients that were run

Written by \`npm run matrix\`. It runs released clients, unmodified and headless, in a temporary home, against the gateway in
front of a scripted model. The files and commands are real.

"Thoughts kept: 9 of 9" means: over all prompts that reached the engine, the model had thought nine times before calls of the
task in hand, and the prompts had all nine thoughts.

${all.join("\n\n")}
`;
}
