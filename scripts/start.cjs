/**
 * `npm start` in a clone. CommonJS in the syntax of old Nodes, as one of those may read it: the gateway's sources need a
 * newer Node, which is then fetched by npx once and kept in npm's cache.
 */
const { spawn, spawnSync } = require("node:child_process");
const { existsSync } = require("node:fs");
const { enableCompileCache } = require("node:module");
const path = require("node:path");

const [major, minor] = process.versions.node.split(".").map(Number);
const root = path.join(__dirname, "..");
const entry = path.join(root, "src", "node.ts");

if (!existsSync(path.join(root, "node_modules", "hono"))) {
  console.error("The dependencies are not installed yet. Run: npm ci --omit=dev");
  process.exitCode = 1;
} else if (major > 22 || (major === 22 && minor >= 19)) {
  // Without it a start compiles everything anew, and strips the types: 1.36 instead of 0.60 s of CPU.
  enableCompileCache(path.join(root, "node_modules", ".cache", "harmony-gateway"));
  void import("../src/node.ts");
} else {
  console.error(
    `This is Node ${process.versions.node}, and the gateway needs 22.19 or newer: it is started with Node 24 by npx.`,
  );
  // Only asked for the path: a gateway below npx would get no signal, since the shell between them passes none on.
  const ask = ["--yes", "--package", "node@24", "--", "node", "--print", "process.execPath"];
  const npx = spawnSync("npx", ask, {
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  if (npx.status === 0) start(npx.stdout.trim());
  else process.exitCode = 1;
}

function start(node) {
  const command = [...process.execArgv, entry, ...process.argv.slice(2)];
  const child = spawn(node, command, { stdio: "inherit" });
  // The child's end is this process's end. It takes a signal of the terminal, which reaches both, for one.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => child.kill(signal));
  }
  child.on("exit", (code, signal) => {
    process.exitCode = code === null ? (signal === "SIGINT" ? 130 : 1) : code;
  });
}
