/** Runs the commands of one page in order, as a reader would, in a temporary folder. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { text } from "node:stream/consumers";
import { quoteShell } from "../../src/snippets/literals.ts";
import { type Fence, noteOf, reasonNotToRun, toCommands } from "./fences.ts";
import { fillPlaceholders, readCommand, type ReadCommand } from "./read-command.ts";
import { type Served, serve } from "./serve.ts";
import { SNIPPET_CHECKS } from "./snippets.ts";
import { checkStatically } from "./static-check.ts";

export interface Report {
  /** `README.md:27` */
  readonly where: string;
  /** The command, or the language of a snippet. */
  readonly what: string;
  readonly outcome: Outcome;
}

export interface Outcome {
  readonly kind: "ok" | "not run" | "wrong";
  readonly text: string;
}

/** The gateway's address in the pages. */
const DOCUMENTED_ORIGIN = "http://127.0.0.1:8787";

/** Other programs are not run. Installing packages, for example, would change the checkout. */
const RUN = /^(curl |node |npm run |eval "\$\(harmony-gateway )/;

/** Whether the check can run a command at all. */
export function isRunnable(command: string): boolean {
  return readCommand(command).kind !== "other" || RUN.test(command);
}

const COMMAND_TIMEOUT_MS = 180_000;

/**
 * TypeScript is left out: it is checked for all pages together.
 *
 * @param path the only folders of programs, in a clone: a gateway is then started by its documented command too. Default: those
 *   of this process, and one with the command `harmony-gateway`.
 */
export async function runPage(
  root: string,
  fences: readonly Fence[],
  path?: string,
): Promise<Report[]> {
  const home = mkdtempSync(join(tmpdir(), "docs-check-"));
  const page = new Page(root, home, path);
  try {
    const reports: Report[] = [];
    for (const fence of fences) reports.push(...(await page.run(fence)));
    return reports;
  } finally {
    await page.end();
    rmSync(home, { recursive: true });
  }
}

class Page {
  readonly #root: string;
  readonly #home: string;
  readonly #path: string | undefined;
  #served: Served | undefined;

  constructor(root: string, home: string, path: string | undefined) {
    this.#root = root;
    this.#home = home;
    this.#path = path;
    const bin = join(home, "bin");
    for (const folder of [bin, join(home, ".codex")]) mkdirSync(folder);
    const command = join(bin, "harmony-gateway");
    const entry = join(root, "src/node.ts");
    writeFileSync(
      command,
      `#!/bin/sh\nexec ${quoteShell(process.execPath)} ${quoteShell(entry)} "$@"\n`,
    );
    chmodSync(command, 0o755);
  }

  async end(): Promise<void> {
    await this.#served?.stop();
  }

  async run(fence: Fence): Promise<Report[]> {
    const { language, body } = fence;
    const where = `${fence.page}:${fence.line}`;
    const file = noteOf(fence, "file");
    if (file !== undefined) {
      // A value on one line, however it is laid out on the page.
      const written = file.endsWith(".jsonl") ? `${JSON.stringify(JSON.parse(body))}\n` : body;
      writeFileSync(join(this.#home, file), written);
    }
    if (language === "sh") {
      const reports: Report[] = [];
      for (const command of toCommands(fence)) {
        reports.push({ where, what: command, outcome: await this.#runCommand(fence, command) });
      }
      return reports;
    }
    return language === "ts" ? [] : [{ where, what: language, outcome: await this.#check(fence) }];
  }

  async #check(fence: Fence): Promise<Outcome> {
    const output = noteOf(fence, "output");
    if (output !== undefined) {
      const { code, printed } = await this.#sh(output, this.#root);
      if (code === 0 && printed.trim() === fence.body.trim()) return ok(`is what ${output} prints`);
      return { kind: "wrong", text: `${output} ended with ${code} and prints:\n${printed}` };
    }
    const reason = reasonNotToRun(fence);
    if (reason !== undefined) return { kind: "not run", text: reason };
    const check = SNIPPET_CHECKS[fence.language];
    if (check === undefined) return missingReason("nothing checks this block");
    const problem = check(fence);
    return problem === undefined ? ok("is well-formed") : { kind: "wrong", text: problem };
  }

  async #runCommand(fence: Fence, command: string): Promise<Outcome> {
    const reason = reasonNotToRun(fence, command);
    if (reason !== undefined) {
      const problem = await checkStatically(this.#root, command);
      return problem === undefined
        ? { kind: "not run", text: reason }
        : { kind: "wrong", text: problem };
    }
    const read = readCommand(command);
    if (read.kind === "serve") return this.#serve(read, command);
    if (!isRunnable(command)) return missingReason("this is not run here");
    const isCurl = command.startsWith("curl ");
    if (isCurl && this.#served === undefined)
      return missingReason("no gateway serves on this page");
    const origin = this.#served?.origin ?? DOCUMENTED_ORIGIN;
    const isConnect = read.args[0] === "connect" && !read.args.includes("--gateway");
    const typed = isConnect ? `${command} --gateway ${DOCUMENTED_ORIGIN}` : command;
    const filled = fillPlaceholders(typed).replaceAll(DOCUMENTED_ORIGIN, origin);
    const full = isCurl ? `${filled} --silent --show-error --fail-with-body` : filled;
    const ofRepository = /^(npm|node) /.test(command);
    const { code, printed, complained } = await this.#sh(
      full,
      ofRepository ? this.#root : this.#home,
    );
    if (code !== 0) {
      return missingReason(`it ended with ${code}: ${(complained + printed).trim().slice(0, 600)}`);
    }
    if (!isCurl) return ok("ends with 0");
    const { error } = JSON.parse(printed);
    return error ? { kind: "wrong", text: printed } : ok(`is answered: ${printed.slice(0, 80)}…`);
  }

  async #serve(read: ReadCommand, command: string): Promise<Outcome> {
    await this.#served?.stop();
    this.#served = undefined;
    try {
      const isNpm = this.#path !== undefined && command.startsWith("npm start");
      this.#served = await serve(this.#root, read, {
        home: this.#home,
        ...(isNpm && { path: this.#path }),
      });
      return ok(this.#served.seen);
    } catch (error) {
      return { kind: "wrong", text: error instanceof Error ? error.message : String(error) };
    }
  }

  async #sh(command: string, cwd: string) {
    const path = [join(this.#home, "bin"), process.env["PATH"]].join(delimiter);
    const child = spawn("/bin/sh", ["-c", command], {
      cwd,
      env: {
        ...process.env,
        HOME: this.#home,
        PATH: this.#path ?? path,
        BASE_URL: `${this.#served?.origin ?? DOCUMENTED_ORIGIN}/v1`,
      },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: COMMAND_TIMEOUT_MS,
    });
    const closed = once(child, "close");
    const [printed, complained] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const [code] = await closed;
    return { code: Number(code ?? -1), printed, complained };
  }
}

function ok(words: string): Outcome {
  return { kind: "ok", text: words };
}

function missingReason(problem: string): Outcome {
  const hint = "If it cannot be run, say why above the block: <!-- not run: … -->";
  return { kind: "wrong", text: `${problem}. ${hint}` };
}
