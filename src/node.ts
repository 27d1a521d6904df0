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
  import("./node/main.ts")
    .then(({ main }) => main(process.argv.slice(2)))
    .catch((error) => {
      console.error(error);
      process.exitCode = 1;
    });
}
