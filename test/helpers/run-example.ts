import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** Runs an example like a user, with these variables, and returns its output. */
export async function runExample(
  name: string,
  variables: Readonly<Record<string, string>>,
): Promise<string> {
  const file = fileURLToPath(new URL(`../../examples/${name}.ts`, import.meta.url));
  const env = { ...process.env, ...variables };
  return (await promisify(execFile)(process.execPath, [file], { env })).stdout;
}
