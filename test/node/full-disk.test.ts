/** Full disks, simulated by a limit on the size of files: a write fails after a part of it. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../helpers/eventually.ts";
import { gatewayCommand } from "../helpers/gateway-command.ts";

/** Runs Node with these arguments, and 4 KB for each file. */
const LIMITED = ["-c", 'ulimit -f 8; exec "$0" "$@"', process.execPath] as const;

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "full-disk-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test.skipIf(process.platform === "win32")(
  "a turn that cannot be captured costs its file only",
  async () => {
    const folder = temporaryFolder();
    const { script, env } = await gatewayCommand();
    const child = spawn("sh", [...LIMITED, script, "--port", "0", "--capture", folder], { env });
    onTestFinished(() => void child.kill("SIGKILL"));
    let logged = "";
    child.stdout.on("data", (data) => (logged += String(data)));
    const baseURL = await eventually(() => {
      const [, url] = /"baseUrl":"(http:[^"]+)"/.exec(logged) ?? [];
      if (url === undefined) throw new Error(logged);
      return url;
    });
    for (let turn = 0; turn < 2; turn++) {
      const response = await fetch(`${baseURL}/chat/completions`, {
        method: "POST",
        body: JSON.stringify({ messages: [{ role: "user", content: "Hi" }] }),
      });
      expect(response.status).toBe(200);
      await response.text();
    }
    await eventually(() => {
      expect(logged).toContain('"message":"Error: EFBIG: file too large, write"');
      expect(readdirSync(folder)).toEqual([]);
    });
    expect(logged.split("capture failing")).toHaveLength(2);
  },
);

test.skipIf(process.platform === "win32")(
  "a snapshot that cannot be kept leaves nothing behind",
  () => {
    const folder = temporaryFolder();
    const snapshots = new URL("../../src/node/python/snapshot.ts", import.meta.url).href;
    const code = `
    const { ensureSnapshot } = await import(${JSON.stringify(snapshots)});
    const make = async () => Buffer.alloc(100_000);
    await ensureSnapshot({ folder: ${JSON.stringify(folder)}, inputs: [], identity: "", make })
      .catch(({ code }) => console.log(code));`;
    const args = ["--input-type=module", "--eval", code];
    const { stdout, stderr } = spawnSync("sh", [...LIMITED, ...args], { encoding: "utf8" });
    expect({ stdout, stderr }).toEqual({ stdout: "EFBIG\n", stderr: "" });
    expect(readdirSync(folder)).toEqual([]);
  },
);
