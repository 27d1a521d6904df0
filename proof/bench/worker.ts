/**
 * Measures the gateway as a Worker: its bundle, start-up, memory with open streams, and CPU.
 *
 *     node proof/bench/worker.ts --size-only                the bundle alone; fails if it is over the limit, or not all ASCII
 *     node proof/bench/worker.ts        everything, in workerd, compared with a Worker that does nothing
 *
 * Clocks do not advance inside a Worker while it computes, so workerd is measured from outside: the CPU time of its
 * process, its resident memory, and the isolate's memory as reported by its debugger, to which Cloudflare's limit of
 * 128 MB applies.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { type Bundle, bundleWorker, emptyFolder } from "../../test/helpers/workerd.ts";
import { describeMachine } from "./machine.ts";
import { toMarkdown } from "./report.ts";
import { measureCpu } from "./worker/cpu.ts";
import { measureStarts } from "./worker/start.ts";
import { measureStreams } from "./worker/streams.ts";

/** Bytes after gzip. Cloudflare takes 3 MB from free accounts, 10 MB from others. */
const MAX_GZIP_BYTES = 1_300_000;

const { values: given } = parseArgs({
  options: {
    "size-only": { type: "boolean", default: false },
    rounds: { type: "string", default: "7" },
    streams: { type: "string", default: "100" },
  },
});

const bundle = await bundleWorker();
try {
  await printSize(bundle);
  if (!given["size-only"]) await printRun(bundle);
} finally {
  await bundle.remove();
}

async function printSize({ folder }: Bundle): Promise<void> {
  const code = await readFile(join(folder, "worker.js"));
  const gzip = gzipSync(code).length;
  console.log(
    `Bundle: ${megabytes(code.length)}, ${megabytes(gzip)} after gzip, vocabulary included.`,
  );
  // A single non-ASCII character makes the runtime store and read the whole text with two bytes per character. esbuild
  // escapes such characters in strings, but not in regular expressions.
  const foreign = code.findIndex((byte) => byte > 0x7f);
  if (foreign !== -1) {
    const near = code.toString("utf8", Math.max(foreign - 40, 0), foreign + 40);
    console.error(`It is not all ASCII: ${near}`);
    process.exitCode = 1;
  }
  if (gzip > MAX_GZIP_BYTES) {
    console.error(`That is more than the ${megabytes(MAX_GZIP_BYTES)} it may have.`);
    process.exitCode = 1;
  }
}

async function printRun(gateway: Bundle): Promise<void> {
  const machine = describeMachine();
  const nothing = await emptyBundle();
  const jsTiktoken = await tiktokenBundle();
  const bundles = { nothing, jsTiktoken, gateway };
  try {
    console.log(await measureStarts(bundles, Number(given.rounds)));
    console.log(await measureStreams(gateway, Number(given.streams)));
    const rounds = Math.ceil(Number(given.rounds) / 2);
    const streaming = await measureCpu(gateway, rounds);
    console.log(toMarkdown({ machine, command: "node proof/bench/worker.ts", rounds, streaming }));
  } finally {
    await nothing.remove();
    await jsTiktoken.remove();
  }
}

/** A Worker that answers `ok`: the cost of the runtime itself. */
async function emptyBundle(): Promise<Bundle> {
  const empty = await emptyFolder();
  await writeFile(
    join(empty.folder, "worker.js"),
    `export default { fetch: () => new Response("ok") };\n`,
  );
  return empty;
}

/** A Worker that answers with js-tiktoken's ids of a greeting, and `ok` to a request without a body. */
async function tiktokenBundle(): Promise<Bundle> {
  const encoder = await emptyFolder();
  await build({
    stdin: {
      contents: `import { Tiktoken } from "js-tiktoken/lite";
        import ranks from "js-tiktoken/ranks/o200k_base";
        let encoder;
        export default {
          fetch(request) {
            if (request.method === "GET") return new Response("ok");
            encoder ??= new Tiktoken(ranks);
            return Response.json(encoder.encode("Hello!"));
          },
        };`,
      resolveDir: import.meta.dirname,
    },
    bundle: true,
    minify: true,
    format: "esm",
    outfile: join(encoder.folder, "worker.js"),
  });
  return encoder;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(2)} MB`;
}
