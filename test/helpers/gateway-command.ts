/** The command in one bundle, much like the published one: a start from 500 files takes more than twice the CPU. */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";
import { inject } from "vitest";
import { COMMAND_BUNDLE } from "../../scripts/command-bundle.ts";

const ROOT = join(import.meta.dirname, "../..");

export interface GatewayCommand {
  /** Path of a script for `node`. */
  readonly script: string;
  /** The variables of this process, without its settings of the gateway. */
  readonly env: NodeJS.ProcessEnv;
}

let bundled: Promise<string> | undefined;

export async function gatewayCommand(): Promise<GatewayCommand> {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith("HARMONY_GATEWAY_")),
  );
  // The programs of `proof/` start the sources: the folder below belongs to the test runner.
  if (process.env["VITEST"] === undefined) return { script: join(ROOT, "src/node.ts"), env };
  const folder = inject("commandFolder");
  const script = await (bundled ??= bundle(join(folder, "bundle")));
  // Compiled code is found by the script's path, which differs in each run.
  return { script, env: { ...env, NODE_COMPILE_CACHE: join(folder, "compiled") } };
}

async function bundle(target: string): Promise<string> {
  const script = join(target, "node.js");
  if (existsSync(script)) return script;
  // Processes of tests run in parallel: the first one's bundle is used, and no process reads half a bundle.
  const unfinished = `${target}-${randomUUID()}`;
  await build({
    ...COMMAND_BUNDLE,
    absWorkingDir: ROOT,
    entryPoints: ["src/node.ts"],
    outdir: unfinished,
    plugins: [sourceUrls],
  });
  await rename(unfinished, target).catch(() => rm(unfinished, { recursive: true }));
  return script;
}

/** Resolves other files relative to the source's path. */
const sourceUrls: Plugin = {
  name: "source-urls",
  setup(building) {
    building.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
      const url = JSON.stringify(pathToFileURL(path).href);
      const text = await readFile(path, "utf8");
      return { contents: text.replaceAll("import.meta.url", url), loader: "ts" };
    });
  },
};
