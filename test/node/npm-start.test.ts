import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../helpers/eventually.ts";
import { freePort } from "../helpers/listen.ts";

const ROOT = join(import.meta.dirname, "../..");

/** A folder that simulates an old Node: the start script under another version, and an npx that has fetched this Node. */
function createOldNode() {
  const folder = mkdtempSync(join(tmpdir(), "old-node-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const script = join(folder, "start.cjs");
  const startScript = JSON.stringify(join(ROOT, "scripts/start.cjs"));
  writeFileSync(
    script,
    `Object.defineProperty(process.versions, "node", { value: "20.19.0" });\nrequire(${startScript});\n`,
  );
  writeFileSync(join(folder, "npx"), `#!/bin/sh\necho "${process.execPath}"\n`, { mode: 0o755 });
  return { script, PATH: `${folder}${delimiter}${process.env["PATH"]}` };
}

/** Starts a command that ends in the gateway's start script. Resolves when the gateway has started. */
async function start(command: string, args: readonly string[], env: NodeJS.ProcessEnv) {
  const port = await freePort();
  const started = spawn(command, [...args, "--port", String(port)], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = once(started, "exit");
  let logged = "";
  started.stdout.on("data", (data) => (logged += String(data)));
  onTestFinished(() => void started.kill("SIGKILL"));
  await eventually(() => expect(logged).toContain('"event":"start"'));
  return { port, ended, kill: (signal: NodeJS.Signals) => started.kill(signal), out: () => logged };
}

describe.skipIf(process.platform === "win32").each(["SIGTERM", "SIGINT"] as const)(
  "%s",
  (signal) => {
    test("to `npm start` stops the gateway", async () => {
      const { port, kill, out, ended } = await start("npm", ["start", "--"], {});
      // Stored data ends with the process.
      expect(out()).toContain('"store":"memory"');
      kill(signal);
      await ended;
      expect(out()).toContain('"event":"stop"');
      await expect(fetch(`http://127.0.0.1:${port}/health`)).rejects.toThrow("fetch failed");
    });

    test("to the start script of an old Node stops the gateway, which a newer one runs", async () => {
      const { script, PATH } = createOldNode();
      const { port, kill, out, ended } = await start(process.execPath, [script], { PATH });
      kill(signal);
      expect(await ended).toEqual([0, null]);
      expect(out()).toContain('"event":"stop"');
      await expect(fetch(`http://127.0.0.1:${port}/health`)).rejects.toThrow("fetch failed");
    });
  },
);
