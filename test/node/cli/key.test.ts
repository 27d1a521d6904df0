import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { resolveSettings } from "../../../src/config/resolve.ts";
import { runKey } from "../../../src/node/cli/key.ts";

test("a new key comes with its hash, which the setting accepts", () => {
  const printed = runKey(["alice"]);
  const key = /^hg-[\w-]{43}$/m.exec(printed)?.[0] ?? "";
  const pair = /^alice:[0-9a-f]{64}$/m.exec(printed)?.[0] ?? "";
  const sha256 = createHash("sha256").update(key).digest("hex");
  expect(pair).toBe(`alice:${sha256}`);

  const given = [{ name: "keys" as const, value: [pair], source: "--keys" }];
  expect(resolveSettings(given, { public: false }).keys).toEqual([{ name: "alice", sha256 }]);
});

test("a new sealing key is accepted by the setting", () => {
  const key = /^[\w-]{43}$/m.exec(runKey(["--sealing"]))?.[0];
  const given = [{ name: "sealingKeys" as const, value: [key], source: "--sealing-keys" }];
  expect(resolveSettings(given, { public: false }).sealingKeys).toEqual([key]);
});

test("no two keys are the same", () => {
  expect(runKey([])).not.toBe(runKey([]));
});

test.each([[["a", "b"]], [["--nmae"]], [["a b"]]])("arguments %j are refused", (args) => {
  expect(() => runKey(args)).toThrow(/^key: /);
});
