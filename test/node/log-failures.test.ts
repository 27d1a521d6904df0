import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../helpers/eventually.ts";
import { freePort } from "../helpers/listen.ts";
import { gatewayCommand } from "../helpers/gateway-command.ts";

/** Starts a gateway with this standard output. Resolves when it answers. */
async function start(stdout: "pipe" | number): Promise<{ child: ChildProcess; origin: string }> {
  const { script, env } = await gatewayCommand();
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const args = [script, "--port", String(port), "--metrics", "open"];
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", stdout, "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  await eventually(async () => expect((await fetch(`${origin}/health`)).status).toBe(200));
  return { child, origin };
}

async function ask(origin: string): Promise<number> {
  const body = JSON.stringify({ messages: [{ role: "user", content: "Hi" }] });
  const response = await fetch(`${origin}/v1/chat/completions`, { method: "POST", body });
  await response.text();
  return response.status;
}

async function readDropped(origin: string): Promise<number> {
  const metrics = await (await fetch(`${origin}/metrics`)).text();
  return Number(/^harmony_gateway_log_lines_dropped_total (\d+)$/m.exec(metrics)?.[1]);
}

describe("S18: a log that cannot be written", () => {
  test("because the disk is full costs lines only, and they are counted", async () => {
    const full = openSync("/dev/full", "w");
    const { child, origin } = await start(full);
    closeSync(full);
    expect(await ask(origin)).toBe(200);
    expect(await readDropped(origin)).toBeGreaterThan(0);
    expect(child.exitCode).toBe(null);
  });

  test("because its reader has left costs lines only, and they are counted", async () => {
    const { child, origin } = await start("pipe");
    child.stdout?.destroy();
    await eventually(async () => {
      expect(await ask(origin)).toBe(200);
      expect(await readDropped(origin)).toBeGreaterThan(0);
    });
    expect(child.exitCode).toBe(null);
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });
});
