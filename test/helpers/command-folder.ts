/** Creates a folder before the tests, for the bundle that `gateway-command.ts` makes when the first test needs it. */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    commandFolder: string;
  }
}

/** The folder is inside the checkout, so that packages outside the bundle are found. */
const CACHE = fileURLToPath(new URL("../.cache/", import.meta.url));

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(`${CACHE}command-`);
  project.provide("commandFolder", folder);
  return () => rm(folder, { recursive: true });
}
