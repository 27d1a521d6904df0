/** A store that runs in workerd, used from a test. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import * as z from "zod";
import type { Store } from "../../src/index.ts";

export interface StoreWorker {
  /** The module, for wrangler. */
  readonly main: string;
  remove(): Promise<void>;
}

/** @param open an expression that creates the store from `env`, with the exports of `module`, a path below `src/`. */
export async function bundleStore(module: string, open: string): Promise<StoreWorker> {
  const folder = await mkdtemp(join(tmpdir(), "harmony-gateway-store-"));
  const main = join(folder, "store.js");
  await build({
    stdin: {
      contents: `import * as module from ${JSON.stringify(`./${module}`)};
        let store;
        export default {
          async fetch(request, env) {
            store ??= (${open});
            const [operation, ...args] = await request.json();
            const result = await store[operation](...args);
            return Response.json(result instanceof Map ? [...result] : (result ?? null));
          },
        };`,
      resolveDir: join(import.meta.dirname, "../../src"),
    },
    bundle: true,
    format: "esm",
    outfile: main,
  });
  return { main, remove: () => rm(folder, { recursive: true }) };
}

const text = z.string().nullable();
const entries = z.array(z.tuple([z.string(), z.string()]));

/** @param send posts a body to the Worker and returns the text of its answer. */
export function remoteStore(send: (body: string) => Promise<string>): Store {
  const ask = async (...operation: readonly unknown[]): Promise<unknown> =>
    JSON.parse(await send(JSON.stringify(operation)));
  return {
    get: async (key) => text.parse(await ask("get", key)) ?? undefined,
    getMany: async (keys) => new Map(entries.parse(await ask("getMany", keys))),
    set: async (...entry) => z.boolean().parse(await ask("set", ...entry)),
    delete: async (key) => void (await ask("delete", key)),
  };
}
