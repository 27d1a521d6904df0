import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { checkCommand, findPages, readCommands } from "../../scripts/docs-commands.ts";
import { startTestGateway } from "../helpers/gateway.ts";

const ROOT = join(import.meta.dirname, "../..");
const COMMANDS = findPages(ROOT).flatMap((page) => readCommands(ROOT, page));

test("there are commands in README and docs", () => {
  expect(COMMANDS.length).toBeGreaterThan(30);
  expect(COMMANDS.map(({ command }) => command)).toContain("npm start");
});

test.each(COMMANDS)("$where $command", async ({ command }) => {
  expect(await checkCommand(ROOT, command)).toBeUndefined();
});

test.each([
  ["harmony-gateway --prot 1", "--prot: there is no such flag. Did you mean --port?"],
  ["harmony-gateway", undefined],
  ["npm run no-such-script", "there is no script no-such-script"],
  ["node examples/none.ts", "there is no examples/none.ts"],
  ["frobnicate", "frobnicate is not run, and no reason is given"],
])("of %s the check says: %s", async (command, problem) => {
  expect(await checkCommand(ROOT, command)).toBe(problem);
});

test("the README's question is answered", async () => {
  const gateway = await startTestGateway({});
  try {
    const curl = COMMANDS.find(({ where, command }) => {
      return where.startsWith("README.md") && command.startsWith("curl ");
    });
    const command = curl?.command.replace("http://127.0.0.1:8787", gateway.origin) ?? "";
    const { stdout } = await promisify(execFile)("sh", ["-c", `${command} --silent`]);
    expect(JSON.parse(stdout)).toMatchObject({ choices: [{ finish_reason: "stop" }] });
  } finally {
    await gateway.close();
  }
});
