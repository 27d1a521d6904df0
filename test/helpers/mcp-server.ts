/** A hand-written MCP server on loopback, because the protocol's own package cannot misbehave as tests require. */
import {
  createServer,
  type IncomingHttpHeaders,
  type Server,
  type ServerResponse,
} from "node:http";
import { onTestFinished } from "vitest";
import * as z from "zod";
import { listenAnywhere } from "./listen.ts";

export interface FakeMcpServer {
  readonly url: string;
  /** Names and arguments of the calls, in order. */
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[];
  /** Methods, with the headers of their requests. */
  readonly requests: readonly { readonly method: string; readonly headers: IncomingHttpHeaders }[];
  /** Number of connections. */
  readonly sessions: () => number;
}

export interface FakeMcpOptions {
  /** Called for each listing. */
  readonly tools?: () => readonly object[];
  /** The result of a call; a text is the only block of its content. */
  readonly answer?: (name: string, args: unknown) => unknown;
  /** Handles requests first. Returns true if it has answered. */
  readonly intercept?: (method: string, response: ServerResponse) => boolean;
}

export const LOOKUP = {
  name: "look.up",
  description: "Looks a word up.",
  inputSchema: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
  annotations: { readOnlyHint: true },
};
export const ERASE = {
  name: "erase",
  description: "Erases a word.",
  inputSchema: { type: "object", properties: { word: { type: "string" } } },
};

const message = z.object({
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().default(""),
  params: z.object({ name: z.string().optional(), arguments: z.unknown().optional() }).optional(),
});

/** Stops at the end of the test. */
export async function startMcpServer(options: FakeMcpOptions = {}): Promise<FakeMcpServer> {
  const { tools = () => [LOOKUP, ERASE], answer = () => "found", intercept } = options;
  const calls: { name: string; arguments: unknown }[] = [];
  const requests: { method: string; headers: IncomingHttpHeaders }[] = [];
  let sessions = 0;

  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      const { id, method, params } = message.parse(body === "" ? {} : JSON.parse(body));
      requests.push({ method, headers: request.headers });
      if (intercept?.(method, response)) return;
      if (request.method !== "POST") return void response.writeHead(405).end();
      if (id === undefined) return void response.writeHead(202).end();
      const reply = (members: object) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ jsonrpc: "2.0", id, ...members }));
      };
      switch (method) {
        case "initialize":
          sessions++;
          return reply({
            result: {
              protocolVersion: "2025-06-18",
              capabilities: { tools: {} },
              serverInfo: { name: "fake", version: "1" },
            },
          });
        case "tools/list":
          return reply({ result: { tools: tools() } });
        case "tools/call": {
          const name = params?.name ?? "";
          calls.push({ name, arguments: params?.arguments });
          const result = answer(name, params?.arguments);
          const content = [{ type: "text", text: result }];
          return reply({ result: typeof result === "string" ? { content } : result });
        }
        default:
          return reply({ error: { code: -32_601, message: "no such method" } });
      }
    });
  });
  const url = `http://127.0.0.1:${await listenAnywhere(server)}/mcp`;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url, calls, requests, sessions: () => sessions };
}
