/** Before the tests of the project `workerd`: the bundle, once for all of them. */
import type { TestProject } from "vitest/node";
import { bundleWorker } from "./workerd.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder that holds it. */
    workerBundle: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const bundle = await bundleWorker();
  project.provide("workerBundle", bundle.folder);
  return () => bundle.remove();
}
