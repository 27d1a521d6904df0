/** The command that installs an optional package, for a clone and for an installed gateway. */
import { existsSync } from "node:fs";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";

const OWN_PATH = fileURLToPath(import.meta.url);

/**
 * The command to run.
 *
 * @param ownPath path of a file of this package.
 */
export function toInstallCommand(
  name: string,
  ownPath: string = OWN_PATH,
  exists: (path: string) => boolean = existsSync,
): string {
  const at = ownPath.lastIndexOf(`${sep}node_modules${sep}`);
  // A clone of the repository.
  if (at < 0) return `npm install --no-save ${name}`;
  const root = ownPath.slice(0, at);
  if (root.includes(`${sep}_npx${sep}`)) {
    return `npx --package harmony-gateway --package ${name} harmony-gateway`;
  }
  // The parent of a global node_modules folder has no package.json.
  return exists(join(root, "package.json"))
    ? `npm install ${name}`
    : `npm install --global ${name}`;
}

/** Whether an import failed because the package itself is missing, not one of its dependencies. */
export function isMissing(error: unknown, name: string): boolean {
  return (
    error instanceof Error &&
    "code" in error &&
    error.code === "ERR_MODULE_NOT_FOUND" &&
    error.message.includes(`'${name}'`)
  );
}
