/**
 * Runs Python by a tool of an MCP server: the tool called `python`, or the only tool whose single argument is `code`. A server
 * may keep variables for each of its sessions, so each turn has a separate connection and sees no variables of another turn. The
 * tool's description tells the model that nothing is kept.
 */
import type { McpOutcome, McpServer, McpTool } from "../../tools/mcp/connection.ts";
import { McpUnavailable } from "../../tools/mcp/connection.ts";
import {
  type PythonOutcome,
  type PythonRuntime,
  PythonUnavailable,
} from "../../tools/python/runtime.ts";
import { createMcpServer } from "../mcp/connect.ts";

export interface McpPythonOptions {
  readonly url: string;
  /** Sent as a bearer token. */
  readonly key?: string | undefined;
  readonly timeoutMs: number;
  /** Letters and digits, unguessable. */
  readonly newId: () => string;
  /** Reports to the operator why the server could not be used. */
  readonly onFailure?: (reason: string) => void;
}

export function createMcpPython(options: McpPythonOptions): PythonRuntime {
  const { url, key, timeoutMs, newId, onFailure } = options;
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };

  return {
    stateful: false,
    network: "unknown",
    packages: undefined,
    timeoutMs,
    open({ id = newId() }) {
      const target = { type: "http", url, headers, fetch } as const;
      const server = createMcpServer({ label: "python", target, timeoutMs, onFailure });
      return Promise.resolve({
        id,
        // The server keeps nothing, so nothing is lost.
        resumed: true,
        run: (code, signal) => run(server, code, signal),
        release: () => server.close(),
      });
    },
    close: () => Promise.resolve(),
  };
}

async function run(server: McpServer, code: string, signal: AbortSignal): Promise<PythonOutcome> {
  const name = await findTool(server, signal);
  return toOutcome(await server.callTool(name, JSON.stringify({ code }), signal));
}

async function findTool(server: McpServer, signal: AbortSignal): Promise<string> {
  const tools = await server.listTools(signal).catch((error: unknown) => {
    throw error instanceof McpUnavailable ? unavailable() : error;
  });
  const runners = tools.filter((tool) => takesCode(tool));
  const named = runners.find(({ name }) => name === "python");
  const [only, ...others] = runners;
  const tool = named ?? (others.length === 0 ? only : undefined);
  if (tool === undefined) throw unavailable();
  return tool.name;
}

function takesCode({ inputSchema }: McpTool): boolean {
  const { properties } = inputSchema;
  return typeof properties === "object" && properties !== null && "code" in properties;
}

function toOutcome({ text, error }: McpOutcome): PythonOutcome {
  // An exception of the code is the tool's own error. Any other error is the server's.
  if (error !== undefined && error.type !== "execution") throw unavailable();
  const status = error === undefined ? "ok" : "exception";
  return { status, output: text, files: [], withheld: [], restarted: false };
}

function unavailable(): PythonUnavailable {
  return new PythonUnavailable("The Python sandbox does not answer. Answer without Python.");
}
