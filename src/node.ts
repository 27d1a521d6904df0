#!/usr/bin/env node
/**
 * The command `harmony-gateway`. There are no static imports: an old Node must be able to parse this file and
 * report its version, instead of failing on a dependency's syntax.
 */
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < 22 || (major === 22 && minor < 19)) {
  console.error(`harmony-gateway needs Node 22.19 or newer; this is ${process.versions.node}.`);
  process.exitCode = 1;
} else {
  // V8's compile cache is in the package's own folder, if that is writable: others who could change the cache could change the
  // code as well. `npm start` on sources has no cache.
  const isNode = !("bun" in process.versions || "deno" in process.versions);
  if (isNode && import.meta.url.endsWith(".js")) {
    const { fileURLToPath } = process.getBuiltinModule("node:url");
    const cache = new URL("../node_modules/.cache/harmony-gateway", import.meta.url);
    process.getBuiltinModule("node:module").enableCompileCache(fileURLToPath(cache));
  }
  import("./node/cli/main.ts")
    .then(({ main }) => main(process.argv.slice(2)))
    .catch((error) => {
      console.error(error);
      process.exitCode = 1;
    });
}
