/** The output of `harmony-gateway store`, and its changes of the file. `wrong-invocations.test.ts` has its refusals. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { runStore } from "../../../src/node/cli/store.ts";
import { runCommand } from "../../helpers/command-io.ts";
import { openTestFile, temporaryFile } from "../../helpers/sqlite.ts";

const SECRET = "a secret of alice";
const KEYS = ["--keys", `alice:${"a".repeat(64)},carol:${"c".repeat(64)}`];

/** A file that a gateway has open. */
async function usedFile() {
  const path = temporaryFile();
  const gateway = await openTestFile(path);
  for (let n = 0; n < 5; n++) await gateway.set(`response:a${n}`, SECRET, 3600, "alice");
  await gateway.set("response:b", "x".repeat(1000), 3600, "bob");
  const toArgs = (line: string) => [...line.split(" "), "--store", `sqlite:${path}`, ...KEYS];
  const run = async (line: string) => {
    const { printed, errors } = await runCommand(["store", ...toArgs(line)]);
    return printed + errors;
  };
  return { path, gateway, run, toArgs };
}

test("stats are the counts of each key, the largest first, also of keys that the settings no longer have", async () => {
  const { path, run } = await usedFile();
  const [first, ...rows] = (await run("stats")).split("\n");
  expect(first?.replace(/\d+ bytes$/, "… bytes")).toBe(
    `${path}: 6 entries (expired: 0), 1150 bytes in a file of … bytes`,
  );
  expect(rows).toEqual(["key    entries  bytes", "bob    1        1010", "alice  5        140"]);
});

test("expired entries are counted, and pruned, and nothing of them is left", async () => {
  const { path, gateway, run } = await usedFile();
  await gateway.set("response:old", "an expired secret", -1, "alice");
  expect(await run("stats")).toContain("7 entries (expired: 1)");
  expect(await run("prune")).toMatch(/^Removed 1 expired entry\. .* has \d+ bytes\.$/);
  expect(readFileSync(path).includes("an expired secret")).toBe(false);
  expect((await gateway.counts()).entries).toBe(6);
});

test.each(["delete --key alice", "delete --key=alice"])(
  "deleting a key's data leaves nothing of it in the file, and the rest as it was: %s",
  async (line) => {
    const { path, gateway, run } = await usedFile();
    expect(await run(line)).toBe(
      `Deleted 5 entries of alice, 140 bytes. Nothing of that is left in ${path} and its log.`,
    );
    const bytes = ["", "-wal"].map((suffix) => readFileSync(path + suffix, "latin1")).join("");
    expect(bytes).not.toContain(SECRET);
    expect(bytes).not.toContain("alice");
    expect(await gateway.get("response:a0")).toBeUndefined();
    expect(await gateway.get("response:b")).toBe("x".repeat(1000));
    expect((await gateway.counts()).tenants).toEqual([{ tenant: "bob", entries: 1, bytes: 1010 }]);
  },
);

test("a key of the settings may have nothing, and one that only the file knows can be deleted", async () => {
  const { run } = await usedFile();
  expect(await run("delete --key carol")).toContain("Deleted 0 entries of carol, 0 bytes.");
  expect(await run("delete --key bob")).toContain("Deleted 1 entry of bob, 1010 bytes.");
});

test("a key that neither the settings nor the file has is refused, and nothing is deleted", async () => {
  const { path, gateway, run } = await usedFile();
  expect(await run("delete --key alicia")).toBe(
    `store delete: there is no key alicia in the settings, and nothing of it in ${path}. Did you mean alice?`,
  );
  expect((await gateway.counts()).entries).toBe(6);
});

test("when the file cannot be rewritten, the command names the next step", async () => {
  const { path, toArgs } = await usedFile();
  const failing = (rewrite: () => Promise<boolean>, line: string) =>
    runStore(toArgs(line), {}, async () => Object.assign(await openTestFile(path), { rewrite }));
  const isFull = () => Promise.reject(new Error("there is no space left."));
  await expect(failing(isFull, "delete --key alice")).rejects.toThrow(
    "Deleted 5 entries of alice, but parts of that may be left in free space of the file. Run harmony-gateway store prune. there is no space left.",
  );
  await expect(failing(async () => false, "prune")).rejects.toThrow(
    "Removed 0 expired entries, but parts of that may be left in free space of the file: a gateway is reading it. Run harmony-gateway store prune.",
  );
});
