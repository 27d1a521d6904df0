import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createServer, type Server } from "node:http";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../helpers/eventually.ts";
import { type GatewayCommand, gatewayCommand } from "../helpers/gateway-command.ts";
import { listenAnywhere } from "../helpers/listen.ts";

let command: GatewayCommand;
beforeAll(async () => {
  command = await gatewayCommand();
});

const processes: ChildProcess[] = [];
const servers: Server[] = [];

afterEach(() => {
  for (const each of processes.splice(0)) each.kill("SIGKILL");
  for (const each of servers.splice(0)) each.close().closeAllConnections();
});

interface Started {
  readonly process: ChildProcess;
  readonly out: () => string;
  readonly err: () => string;
  /** The exit code, or the signal that ended the process. */
  readonly exit: Promise<number | string | null>;
}

function run(args: readonly string[], nodeArgs: readonly string[] = []): Started {
  const { script, env } = command;
  const child = spawn(process.execPath, [...nodeArgs, script, ...args], { env });
  processes.push(child);
  let out = "";
  let err = "";
  child.stdout.on("data", (data) => (out += data));
  child.stderr.on("data", (data) => (err += data));
  const exit = new Promise<number | string | null>((resolve) => {
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
  return { process: child, out: () => out, err: () => err, exit };
}

async function listening(started: Started): Promise<string> {
  return eventually(() => {
    const url = /"baseUrl":"(http:[^"]+)"/.exec(started.out())?.[1];
    if (url === undefined) throw new Error(`not listening yet: ${started.err()}`);
    return url;
  });
}

/** A server that accepts requests and never answers. */
async function silentServer(): Promise<{ url: string; completions: () => number }> {
  let completions = 0;
  const server = createServer(({ method }) => {
    // The gateway's own requests, which it repeats, are GETs.
    if (method === "POST") completions += 1;
  });
  servers.push(server);
  return {
    url: `http://127.0.0.1:${await listenAnywhere(server)}`,
    completions: () => completions,
  };
}

describe("serving", () => {
  test("it answers, and shuts down gracefully on a signal", async () => {
    const started = run(["--port", "0"]);
    const baseURL = await listening(started);
    const response = await fetch(`${baseURL}/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ messages: [{ role: "user", content: "Hello!" }] }),
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ choices: [{ finish_reason: "stop" }] });
    started.process.kill("SIGTERM");
    expect(await started.exit).toBe(0);
  });

  /** A gateway with a request that never ends. */
  async function startBusy() {
    const engine = await silentServer();
    const started = run([
      "--port",
      "0",
      "--engine",
      "vllm",
      "--url",
      engine.url,
      "--model",
      "gpt-oss",
    ]);
    const baseURL = await listening(started);
    const failure = fetch(`${baseURL}/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ messages: [{ role: "user", content: "Hello!" }] }),
    }).catch((error: unknown) => error);
    await expect.poll(() => engine.completions()).toBe(1);
    return { started, failure };
  }

  test("a second signal exits at once", async () => {
    const { started, failure } = await startBusy();
    started.process.kill("SIGINT");
    await expect.poll(() => started.out()).toContain('"shutdown"');
    // A signal that follows at once counts as the first one.
    const again = setInterval(() => started.process.kill("SIGINT"), 100);
    expect(await started.exit).toBe(1);
    clearInterval(again);
    expect(await failure).toBeInstanceOf(TypeError);
  });

  test("a signal that arrives twice, from a terminal and by npm, is one", async () => {
    const { started, failure } = await startBusy();
    started.process.kill("SIGINT");
    started.process.kill("SIGINT");
    await expect.poll(() => started.out()).toContain('"shutdown"');
    expect(started.process.exitCode).toBe(null);
    started.process.kill("SIGKILL");
    expect(await failure).toBeInstanceOf(TypeError);
  });

  test("SIGHUP reads the config file again, and a bad one changes nothing", async () => {
    const folder = mkdtempSync(join(tmpdir(), "reload-"));
    const file = join(folder, "gateway.json");
    const models = async (baseURL: string) => (await fetch(`${baseURL}/models`)).text();
    writeFileSync(file, JSON.stringify({ servedName: "first", engine: "demo" }));
    try {
      const started = run(["--port", "0", "--config", file]);
      const baseURL = await listening(started);
      writeFileSync(file, JSON.stringify({ servedName: "second", engine: "demo" }));
      started.process.kill("SIGHUP");
      await expect.poll(() => started.out()).toContain('"settings read again"');
      expect(await models(baseURL)).toContain('"second"');
      writeFileSync(file, '{"servdName": "third"}');
      started.process.kill("SIGHUP");
      await expect.poll(() => started.out()).toContain('"settings refused"');
      expect(started.out()).toContain("Did you mean servedName?");
      expect(await models(baseURL)).toContain('"second"');
      rmSync(file);
      // Reading a FIFO would wait for a writer, and block all requests meanwhile.
      if (process.platform !== "win32") execFileSync("mkfifo", [file]);
      started.process.kill("SIGHUP");
      const refused = () => started.out().match(/"settings refused"/g)?.length;
      await expect.poll(refused).toBe(2);
      expect(await models(baseURL)).toContain('"second"');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("a port in use is reported in a sentence", async () => {
    const { url } = await silentServer();
    const { port } = new URL(url);
    const started = run(["--port", port]);
    expect(await started.exit).toBe(1);
    expect(started.err()).toBe(
      `port ${port} of 127.0.0.1 is in use by another program. Choose another port with --port.\n`,
    );
  });
});

describe("invalid usage exits with code 2, and is reported on stderr", () => {
  test.each([
    [["--prot", "1"], "--prot: there is no such flag. Did you mean --port?"],
    [["serve", "--port", "x"], '--port: expected a whole number from 0 to 65535, got "x".'],
    [["--host", "0.0.0.0"], "host 0.0.0.0: other machines could use the gateway without a key."],
    [["servr"], "There is no command servr. Did you mean serve?"],
    [["key", "a", "b"], "key: give one name for the client, not 2."],
  ])("%j", async (args, message) => {
    const started = run(args);
    expect(await started.exit).toBe(2);
    expect(started.err()).toContain(message);
    expect(started.out()).toBe("");
  });
});

test("help and version are printed, whatever else is there", async () => {
  const help = run(["--prot", "--help"]);
  expect(await help.exit).toBe(0);
  expect(help.out()).toContain("--port <number>");
  const version = run(["--version"]);
  expect(await version.exit).toBe(0);
  expect(version.out()).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test("a Node that is too old prints one line", async () => {
  const old = 'Object.defineProperty(process,"versions",{value:{node:"20.1.0"}})';
  const started = run([], ["--import", `data:text/javascript,${encodeURIComponent(old)}`]);
  expect(await started.exit).toBe(1);
  expect(started.err()).toBe("harmony-gateway needs Node 22.19 or newer; this is 20.1.0.\n");
});

test("convert exits silently when its output is closed", async () => {
  const started = run(["convert", "--from", "chat", "--to", "ids"]);
  const { stdin, stdout } = started.process;
  // The pipe to the process breaks, too, when it has ended.
  stdin?.on("error", () => {});
  stdout?.once("data", () => stdout.destroy());
  const line = `${JSON.stringify({ messages: [{ role: "user", content: "Hello" }] })}\n`;
  stdin?.end(line.repeat(20_000));
  expect(await started.exit).toBe(0);
  expect(started.err()).toBe("");
});
