/** MCP servers that are programs, and misbehave as tests require. */
import { createMcpServer } from "../../src/node/mcp/connect.ts";
import type { McpServer } from "../../src/tools/mcp/connection.ts";

/**
 * The arguments of `node` for a program that speaks the protocol. `script` may replace `on[method]`, of which `call` answers calls, by functions of the
 * request's id, and may use `say(message)`, `write(text)`, `answer(id, result)` and `spawn(script)`.
 */
export function programArguments(script: string): string[] {
  return ["-e", PROGRAM + script];
}

export function startMcpProgram(script: string, timeoutMs = 40_000): McpServer {
  const args = programArguments(script);
  return createMcpServer({
    label: "program",
    target: { type: "stdio", command: process.execPath, args, env: {} },
    timeoutMs,
  });
}

/** Requests the process ids of the program and its children. */
export async function processesOf(server: McpServer): Promise<number[]> {
  const { text } = await server.callTool("call", "{}", new AbortController().signal);
  return text.split(" ").map(Number);
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const PROGRAM = `
const started = [process.pid];
const write = (text) => process.stdout.write(text);
const say = (message) => write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const answer = (id, result) => say({ id, result });
const spawn = (script) => {
  const { spawn } = require("node:child_process");
  started.push(spawn(process.execPath, ["-e", script], { stdio: "ignore" }).pid);
};
/** Writes again and again, as fast as it is read. */
const flood = (text) => {
  while (write(text));
  process.stdout.once("drain", () => flood(text));
};
const tool = { name: "call", inputSchema: { type: "object" } };
const on = {
  initialize: (id) =>
    answer(id, {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "program", version: "1" },
    }),
  list: (id) => answer(id, { tools: [tool] }),
  call: (id) => answer(id, { content: [{ type: "text", text: started.join(" ") }] }),
  other: (id) => id !== undefined && say({ id, error: { code: -32601, message: "no such method" } }),
};
let waiting = "";
process.stdout.on("error", () => undefined);
process.stdin.on("data", (data) => {
  const lines = (waiting + data).split("\\n");
  waiting = lines.pop();
  for (const line of lines) {
    const { id, method } = JSON.parse(line);
    const name = method.replace("tools/", "");
    (on[name] ?? on.other)(id, method);
  }
});
`;
