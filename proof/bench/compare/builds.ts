/** Builds of other commits, each in a worktree in a temporary folder that goes away with this process. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

export interface Build {
  /** The abbreviated commit. */
  readonly name: string;
  readonly folder: URL;
}

export class Builds {
  readonly #checkout: string;
  readonly #folder: string;
  readonly #worktrees: string[] = [];
  /** Folders of installed packages, by the lock file they were installed from. */
  readonly #packages = new Map<string, string>();

  /** Everything is removed when the process exits, and when it is interrupted. */
  constructor(checkout: string) {
    this.#checkout = checkout;
    this.#folder = mkdtempSync(join(tmpdir(), "bench-compare-"));
    process.once("exit", () => this.#remove());
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.once(signal, () => process.exit(130));
    }
    const packages = realpathSync(join(checkout, "node_modules"));
    this.#packages.set(readFileSync(join(checkout, "package-lock.json"), "utf8"), packages);
  }

  /** Checks a commit out and builds it. */
  build(commit: string): Build {
    const name = this.#git("rev-parse", "--short", `${commit}^{commit}`);
    const folder = join(this.#folder, name);
    this.#git("worktree", "add", "--quiet", "--detach", folder, name);
    this.#worktrees.push(folder);
    this.#install(folder);
    runNpm(folder, "run", "--silent", "build");
    return { name, folder: pathToFileURL(`${folder}/`) };
  }

  /** Links the packages if the same ones are installed already. */
  #install(folder: string): void {
    const lock = readFileSync(join(folder, "package-lock.json"), "utf8");
    const packages = this.#packages.get(lock);
    const target = join(folder, "node_modules");
    if (packages !== undefined) return symlinkSync(packages, target, "dir");
    runNpm(folder, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline");
    this.#packages.set(lock, target);
  }

  #remove(): void {
    for (const worktree of this.#worktrees) {
      try {
        this.#git("worktree", "remove", "--force", worktree);
      } catch (error) {
        process.stderr.write(`${String(error)}\n`);
      }
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #git(...args: readonly string[]): string {
    return execFileSync("git", args, { cwd: this.#checkout, encoding: "utf8" }).trim();
  }
}

/** Builds the checkout itself, in place. */
export function buildCheckout(checkout: string): Build {
  runNpm(checkout, "run", "--silent", "build");
  return { name: "head", folder: pathToFileURL(`${checkout}/`) };
}

/** Runs a command with this Node, and shows its output only if it fails. */
function runNpm(cwd: string, ...args: readonly string[]): void {
  const PATH = `${dirname(process.execPath)}${delimiter}${process.env["PATH"] ?? ""}`;
  execFileSync("npm", args, { cwd, env: { ...process.env, PATH }, stdio: "pipe" });
}
