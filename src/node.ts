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
  // What V8 has compiled is kept in the package's own folder, if that may be written: what others could change there, they
  // could change in the code as well. Sources are left to `npm start`.
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
