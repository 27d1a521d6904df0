import { sep } from "node:path";
import { expect, test } from "vitest";
import { isMissing, toInstallCommand } from "../../../src/node/cli/install-hint.ts";

const path = (text: string) => text.replaceAll("/", sep);

test.each([
  [
    "in a project",
    "/app/node_modules/harmony-gateway/dist/node/x.js",
    "npm install node-llama-cpp",
  ],
  [
    "globally",
    "/usr/lib/node_modules/harmony-gateway/dist/node/x.js",
    "npm install --global node-llama-cpp",
  ],
  [
    "by npx",
    "/srv/.npm/_npx/0123/node_modules/harmony-gateway/dist/node/x.js",
    "npx --package harmony-gateway --package node-llama-cpp harmony-gateway",
  ],
  ["as a clone", "/srv/harmony-gateway/src/node/x.ts", "npm install --no-save node-llama-cpp"],
])("installed %s, the hint names the command that adds a package", (_, own, command) => {
  const exists = (file: string) => file === path("/app/package.json");
  expect(toInstallCommand("node-llama-cpp", path(own), exists)).toBe(command);
});

test("an installed package without one of its dependencies is not reported as missing", () => {
  const missing = (name: string) =>
    Object.assign(new Error(`Cannot find package '${name}'`), { code: "ERR_MODULE_NOT_FOUND" });
  expect(isMissing(missing("node-llama-cpp"), "node-llama-cpp")).toBe(true);
  expect(isMissing(missing("lifecycle-utils"), "node-llama-cpp")).toBe(false);
  expect(isMissing(new Error("Cannot find package 'node-llama-cpp'"), "node-llama-cpp")).toBe(
    false,
  );
});
