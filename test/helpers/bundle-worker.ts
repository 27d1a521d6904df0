/** Creates the bundle once before the tests of the project `workerd`. */
import type { TestProject } from "vitest/node";
import { bundleWorker } from "./workerd.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder of the bundle. */
    workerBundle: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const bundle = await bundleWorker();
  project.provide("workerBundle", bundle.folder);
  return () => bundle.remove();
}
