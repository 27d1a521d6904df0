/** Before the tests: a folder for the bundle that `gateway-command.ts` makes when the first test needs it. */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    commandFolder: string;
  }
}

/** Inside the checkout, where the packages are found that the bundle does not contain. */
const CACHE = fileURLToPath(new URL("../.cache/", import.meta.url));

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(`${CACHE}command-`);
  project.provide("commandFolder", folder);
  return () => rm(folder, { recursive: true });
}
