/**
 * Runs the released clients against the gateway and writes the results to `docs/evidence/matrix.md`.
 *
 *     npm ci --prefix proof/matrix           # first: two gigabytes, into a folder of their own
 *     node proof/matrix/run.ts
 *     node proof/matrix/run.ts opencode Cline   # only these; the results of the others stay
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { claudeCode } from "./claude-code.ts";
import type { ClientResult, MatrixClient } from "./client.ts";
import { cline } from "./cline.ts";
import { codexOverHttp, codexOverWebSocket } from "./codex.ts";
import { continueCli } from "./continue.ts";
import { opencode } from "./opencode.ts";
import { piOverEach } from "./pi.ts";
import { qwenCode } from "./qwen-code.ts";
import { MATRIX_PAGE, readSections } from "./sections.ts";

const CLIENTS: readonly MatrixClient[] = [
  codexOverHttp,
  codexOverWebSocket,
  claudeCode,
  opencode,
  cline,
  continueCli,
  qwenCode,
  ...piOverEach,
];

const { dependencies: versions } = z
  .object({ dependencies: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(join(import.meta.dirname, "package.json"), "utf8")));

const { positionals: chosen } = parseArgs({ allowPositionals: true });
const unknown = chosen.filter((name) => !CLIENTS.some((client) => client.name === name));
if (unknown.length > 0) {
  throw new Error(
    `There is no client ${unknown.join(", ")}. There are: ${CLIENTS.map(({ name }) => name).join(", ")}.`,
  );
}

for (const client of CLIENTS) {
  if (chosen.length > 0 && !chosen.includes(client.name)) continue;
  const folder = mkdtempSync(join(tmpdir(), "harmony-gateway-matrix-"));
  try {
    const result = await client.run(folder);
    const section = toSection(client, result);
    console.log(`${section}\n`);
    writeSection(client.name, section);
    if (!succeeded(result)) process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Written immediately: a later client may take long, or fail. */
function writeSection(name: string, section: string): void {
  const sections = readSections().set(name, section);
  writeFileSync(MATRIX_PAGE, toPage(CLIENTS.flatMap((client) => sections.get(client.name) ?? [])));
}

function succeeded({ checks, analysis, tools }: ClientResult): boolean {
  return (
    checks.length > 0 &&
    checks.every(({ passed }) => passed) &&
    analysis.had > 0 &&
    analysis.kept === analysis.had &&
    tools.dropped.length === 0
  );
}

function toSection(client: MatrixClient, result: ClientResult): string {
  const { checks, analysis, tools, exact, notes = [] } = result;
  const date = new Date().toISOString().slice(0, 10);
  return [
    `## ${client.name} ${versions[client.package] ?? ""}`,
    "",
    `Run on ${date}. Reasoning kept: ${analysis.kept} of ${analysis.had}.${toExactSteps(exact)} Tools offered: ${tools.count};` +
      ` named as skipped: ${tools.skipped.length === 0 ? "none" : list(tools.skipped)};` +
      ` dropped silently: ${tools.dropped.length === 0 ? "none" : `**${list(tools.dropped)}**`}.`,
    "",
    ...checks.map(({ name, passed }) => `- ${passed ? "passed" : "**failed**"}: ${name}`),
    ...notes.map((note) => `- not run: ${note}`),
  ].join("\n");
}

/** Empty: no reply had the header. */
function toExactSteps({ steps, because }: ClientResult["exact"]): string {
  if (steps === 0) return "";
  const others = because.length === 0 ? "" : `; the others: ${list(because.toSorted())}`;
  return ` Steps exact: ${steps - because.length} of ${steps}${others}.`;
}

function list(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(", ");
}

function toPage(all: readonly string[]): string {
  return `# Clients that were run

Written by \`node proof/matrix/run.ts\`. It runs released clients, unmodified and headless, in a temporary home, against the gateway in
front of a scripted model. The files, commands and MCP servers are real. The output of the model is not: this says nothing
about how well gpt-oss does the work.

"Reasoning kept: 9 of 9" means: over all prompts that reached the engine, the model had written nine analysis messages before
calls of the current task, and the prompts contained all nine. "Steps exact" counts what \`x-harmony-exact\` said of the steps of
tool loops ([token-exact history](../reasoning.md#token-exact-history)). "Dropped silently" are tools that a client offered, that are in no
prompt, and that the gateway did not name either: in \`x-harmony-skipped-tools\`, or over WebSocket in its metrics.

${all.join("\n\n")}
`;
}
