import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../helpers/eventually.ts";

const ROOT = join(import.meta.dirname, "../..");

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address !== null ? address.port : 0;
}

test.skipIf(process.platform === "win32")("SIGTERM to `npm start` stops the gateway", async () => {
  const port = await freePort();
  const args = ["start", "--", "--port", String(port)];
  const npm = spawn("npm", args, { cwd: ROOT, stdio: ["ignore", "pipe", "inherit"] });
  let logged = "";
  npm.stdout.on("data", (data) => (logged += String(data)));
  onTestFinished(() => void npm.kill("SIGKILL"));
  await eventually(() => expect(logged).toContain('"event":"start"'));
  npm.kill("SIGTERM");
  await eventually(() => expect(logged).toContain('"event":"stop"'));
  await expect(fetch(`http://127.0.0.1:${port}/health`)).rejects.toThrow("fetch failed");
});
