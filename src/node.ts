#!/usr/bin/env node
/**
 * The command `harmony-gateway`. Nothing is imported at the top: an old Node is to read this file to
 * its end and say what is wrong, instead of tripping over a dependency's syntax.
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
