/** A gateway with configured MCP servers: real ones, and a program that shows whether it is running. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import OpenAI from "openai";
import { describe, expect, onTestFinished, test } from "vitest";
import { startTestGateway } from "../../helpers/gateway.ts";
import { EVERYTHING_SERVER, HAS_MCP_SERVER, WITHOUT_MCP_SERVER } from "../../helpers/parts.ts";

const MODEL = "openai/gpt-oss-20b";

async function start(mcpServers: object) {
  const gateway = await startTestGateway({ settings: { mcpServers } });
  const client = new OpenAI({ baseURL: gateway.baseURL, apiKey: "none", maxRetries: 0 });
  return { gateway, client };
}

const tool = (label: string) =>
  ({ type: "mcp", server_label: label, require_approval: "never" }) as const;

describe.skipIf(!HAS_MCP_SERVER)(`a real server${WITHOUT_MCP_SERVER}`, () => {
  const SERVERS = {
    real: { command: process.execPath, args: [EVERYTHING_SERVER, "stdio"], timeoutMs: 60_000 },
  };

  test("is listed and called, plain and streamed, by the demo engine", async () => {
    const { gateway, client } = await start(SERVERS);
    onTestFinished(() => gateway.close());
    const request = { model: MODEL, input: "Call real.echo with hello.", tools: [tool("real")] };
    const { output, output_text: text } = await client.responses.create(request);
    const calls = output.flatMap((item) => (item.type === "mcp_call" ? [item] : []));
    expect(calls).toMatchObject([{ server_label: "real", name: "echo", status: "completed" }]);
    expect(calls[0]?.output).toMatch(/^Echo: /);
    expect(text).not.toBe("");
    const stream = client.responses.stream(request);
    const done: string[] = [];
    for await (const { type } of stream) if (type.includes("mcp_call.")) done.push(type);
    expect(done).toEqual(["response.mcp_call.in_progress", "response.mcp_call.completed"]);
  });

  test("is called on Chat Completions", async () => {
    const { gateway, client } = await start(SERVERS);
    onTestFinished(() => gateway.close());
    const { choices } = await client.chat.completions.create({
      model: MODEL,
      messages: [{ role: "user", content: "Call real.echo with hello." }],
      tools: [Object({ type: "mcp", server_label: "real" })],
    });
    expect(choices[0]).toMatchObject({
      finish_reason: "stop",
      message: { executed_tools: [{ type: "mcp", name: "echo", server_label: "real" }] },
    });
  });
});

describe.skipIf(!HAS_MCP_SERVER)(`the example${WITHOUT_MCP_SERVER}`, () => {
  test("approves the call that the model wants to make", async () => {
    const everything = { command: process.execPath, args: [EVERYTHING_SERVER, "stdio"] };
    const { gateway } = await start({ everything });
    onTestFinished(() => gateway.close());
    const file = join(import.meta.dirname, "../../../examples/tools-mcp.ts");
    const { stdout } = await promisify(execFile)(process.execPath, [file], {
      env: { ...process.env, BASE_URL: gateway.baseURL },
    });
    expect(stdout.split("\n").slice(0, 3)).toEqual([
      "tools: [ 'echo' ]",
      'approved: echo {"message":"everything.echo with hello."}',
      "result: Echo: everything.echo with hello.",
    ]);
  });
});

/** A program with one tool that writes its process id to the file of its argument. */
const PROGRAM = `
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
appendFileSync(process.argv[1], process.pid + "\\n");
const results = {
  initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "p", version: "1" } },
  "tools/list": { tools: [{ name: "ping", inputSchema: { type: "object" } }] },
  "tools/call": { content: [{ type: "text", text: "pong" }] },
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const result = results[method];
  const reply = result ? { result } : { error: { code: -32601, message: "no such method" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...reply }));
});
`;

test("programs end when settings are read again, and with the gateway", async () => {
  const folder = await mkdtemp(join(tmpdir(), "mcp-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "pids");
  const args = ["--input-type=module", "-e", PROGRAM, file];
  const mcpServers = { program: { command: process.execPath, args } };
  const running = async () =>
    (await readFile(file, "utf8").catch(() => ""))
      .split("\n")
      .filter((pid) => pid !== "" && isRunning(Number(pid))).length;
  const { gateway, client } = await start(mcpServers);
  const ask = async () => {
    const { output } = await client.responses.create({
      model: MODEL,
      input: "Call program.ping.",
      tools: [tool("program")],
    });
    return output.flatMap((item) => (item.type === "mcp_call" ? [item.output] : []));
  };

  expect(await ask()).toEqual(["pong"]);
  await expect.poll(running).toBe(1);
  await gateway.reload({ mcpServers, mcpTimeoutMs: 20_000 });
  await expect.poll(running).toBe(0);
  expect(await ask()).toEqual(["pong"]);
  await expect.poll(running).toBe(1);
  await gateway.close();
  await expect.poll(running).toBe(0);
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
