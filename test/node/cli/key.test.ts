import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { resolveSettings } from "../../../src/index.ts";
import { loadSettings } from "../../../src/node/index.ts";
import { runCommand } from "../../helpers/command-io.ts";

const key = (...args: string[]) => runCommand(["key", ...args]);

test("a new key comes with its hash, which the setting accepts", async () => {
  const { printed } = await key("alice");
  const secret = /^hg-[\w-]{43}$/m.exec(printed)?.[0] ?? "";
  const pair = /^alice:[0-9a-f]{64}$/m.exec(printed)?.[0] ?? "";
  const sha256 = createHash("sha256").update(secret).digest("hex");
  expect(pair).toBe(`alice:${sha256}`);

  const given = [{ name: "keys" as const, value: [pair], source: "--keys" }];
  expect(resolveSettings(given, { public: false }).keys).toEqual([{ name: "alice", sha256 }]);
});

test("a new sealing key is accepted by the setting", async () => {
  const secret = /^[\w-]{43}$/m.exec((await key("--sealing")).printed)?.[0];
  const given = [{ name: "sealingKeys" as const, value: [secret], source: "--sealing-keys" }];
  expect(resolveSettings(given, { public: false }).sealingKeys).toEqual([secret]);
});

test("no two keys are the same", async () => {
  expect((await key()).printed).not.toBe((await key()).printed);
});

test.each([[["a", "b"]], [["--nmae"]], [["a b"]]])("arguments %j are refused", async (args) => {
  expect((await key(...args)).errors).toMatch(/^key: /);
});

function writeConfig(text: string): string {
  const file = join(mkdtempSync(join(tmpdir(), "harmony-gateway-key-")), "gateway.json");
  writeFileSync(file, text);
  return file;
}

test.each([
  ["{}", ["alice"]],
  ['{\n  "port": 8787\n}\n', ["alice"]],
  [`{"keys": ["bob:${"0".repeat(64)}"]}`, ["bob", "alice"]],
  [
    `{\n  "keys": [\n    { "name": "bob", "sha256": "${"0".repeat(64)}" }\n  ]\n}\n`,
    ["bob", "alice"],
  ],
])("--add writes the hash into the keys of %j", async (text, names) => {
  const file = writeConfig(text);
  const { printed } = await key("alice", "--add", file);
  const secret = /^hg-[\w-]{43}$/m.exec(printed)?.[0] ?? "";
  const { settings } = loadSettings(["--config", file], {});
  expect(settings.keys.map(({ name }) => name)).toEqual(names);
  expect(settings.keys.at(-1)?.sha256).toBe(createHash("sha256").update(secret).digest("hex"));
});

test.each([
  [
    `{"keys": ["alice:${"0".repeat(64)}"]}`,
    "keys has alice already. Remove it first, or choose another name.",
  ],
  ['{"keys": [{"name": "alice"}]}', "keys has alice already."],
  ['{"keys": "alice"}', "expected an object whose keys are a list."],
  ["[]", "expected an object whose keys are a list."],
  ["{", "is not valid JSON"],
])("--add refuses %j, and leaves it as it is", async (text, message) => {
  const file = writeConfig(text);
  expect((await key("alice", "--add", file)).errors).toContain(message);
  expect(readFileSync(file, "utf8")).toBe(text);
});

test("--add names a file that is not there", async () => {
  expect((await key("alice", "--add", "/none/gateway.json")).errors).toBe(
    "/none/gateway.json: there is no folder /none.",
  );
});
