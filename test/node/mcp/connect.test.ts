/** The official client against real servers of the MCP project, and against servers that die, flood or do not answer. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createMcpServer } from "../../../src/node/mcp/connect.ts";
import { ERASE, LOOKUP, startMcpServer } from "../../helpers/mcp-server.ts";
import { eventually } from "../../helpers/eventually.ts";
import { freePort, listenAnywhere } from "../../helpers/listen.ts";
import { EVERYTHING_SERVER, HAS_MCP_SERVER, WITHOUT_MCP_SERVER } from "../../helpers/parts.ts";

const never = new AbortController().signal;
const TIMEOUT_MS = 40_000;

/** The variable by which the server's modules are compiled once, and not at each start. */
const CACHE = { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? "" };

function stdioServer(args: readonly string[] = [EVERYTHING_SERVER, "stdio"]) {
  return createMcpServer({
    label: "everything",
    target: {
      type: "stdio",
      command: process.execPath,
      args,
      env: { ...CACHE, MCP_CANARY: "set" },
    },
    timeoutMs: TIMEOUT_MS,
  });
}

function httpServer(url: string, headers: Record<string, string> = {}, timeoutMs = TIMEOUT_MS) {
  return createMcpServer({
    label: "everything",
    target: { type: "http", url, headers, fetch },
    timeoutMs,
  });
}

describe.skipIf(!HAS_MCP_SERVER)(`a real server${WITHOUT_MCP_SERVER}`, () => {
  let http: ChildProcess;
  let url: string;

  beforeAll(async () => {
    const port = await freePort();
    url = `http://127.0.0.1:${port}/mcp`;
    http = spawn(process.execPath, [EVERYTHING_SERVER, "streamableHttp"], {
      env: { ...CACHE, PORT: String(port) },
      stdio: "ignore",
    });
    await eventually(async () => {
      await fetch(url);
    });
  });

  afterAll(async () => {
    http.kill("SIGKILL");
    await once(http, "close");
  });

  describe.each(["stdio", "http"])("by %s", (kind) => {
    const open = () => (kind === "stdio" ? stdioServer() : httpServer(url));

    test("its tools are listed and called, over one connection", async () => {
      const server = open();
      const tools = await server.listTools(never);
      expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["echo", "get-sum"]));
      expect(await server.callTool("echo", '{"message":"hello"}', never)).toEqual({
        text: "Echo: hello",
      });
      const sum = await server.callTool("get-sum", '{"a":2,"b":40}', never);
      expect(sum.text).toContain("42");
      await server.close();
    });

    test("results that the model cannot read are named", async () => {
      const server = open();
      const { text } = await server.callTool("get-tiny-image", "", never);
      expect(text).toContain("[image left out: the model reads only text]");
      await server.close();
    });

    test("an image is replaced by its description", async () => {
      const server = open();
      const read: string[] = [];
      const { text } = await server.callTool("get-tiny-image", "", never, async (image) => {
        read.push(`${image.mediaType} ${image.data.slice(0, 5)}`);
        return "[a tiny image]";
      });
      expect(read).toEqual(["image/png iVBOR"]);
      expect(text).toContain("[a tiny image]");
      await server.close();
    });

    test("invalid calls are results, not exceptions", async () => {
      const server = open();
      expect(await server.callTool("get-sum", '{"a":"x"}', never)).toHaveProperty("error");
      expect(await server.callTool("no-such-tool", "{}", never)).toHaveProperty("error");
      expect(await server.callTool("echo", "[1]", never)).toMatchObject({
        error: {
          type: "protocol",
          code: -32_602,
          message: "The arguments are not a JSON object.",
        },
      });
      expect(await server.callTool("echo", '{"message":"again"}', never)).toEqual({
        text: "Echo: again",
      });
      await server.close();
    });

    test("an aborted call ends, and the connection serves the next one", async () => {
      const server = open();
      const leaving = new AbortController();
      const call = server.callTool(
        "trigger-long-running-operation",
        '{"duration":60,"steps":2}',
        leaving.signal,
      );
      leaving.abort(new Error("left"));
      await expect(call).rejects.toThrow("left");
      expect(await server.callTool("echo", '{"message":"next"}', never)).toEqual({
        text: "Echo: next",
      });
      await server.close();
    });
  });

  test("a connection that has ended is opened again", async () => {
    const server = stdioServer();
    expect(await server.callTool("echo", '{"message":"1"}', never)).toEqual({ text: "Echo: 1" });
    await server.close();
    expect(await server.callTool("echo", '{"message":"2"}', never)).toEqual({ text: "Echo: 2" });
    await server.close();
  });

  test("a program gets the variables it was given and none of the gateway's", async () => {
    process.env["MCP_SECRET"] = "hidden";
    const server = stdioServer();
    const { text } = await server.callTool("get-env", "{}", never);
    expect(text).toContain("MCP_CANARY");
    expect(text).not.toContain("MCP_SECRET");
    delete process.env["MCP_SECRET"];
    await server.close();
  });
});

describe("a server that", () => {
  let server: Server | undefined;

  async function serve(listener: RequestListener) {
    server = createServer(listener);
    return `http://127.0.0.1:${await listenAnywhere(server)}/mcp`;
  }

  async function stop() {
    server?.closeAllConnections();
    server?.close();
    await Promise.resolve();
  }

  test.each<[string, RequestListener]>([
    ["refuses the key", (_, response) => response.writeHead(401).end()],
    ["fails", (_, response) => response.writeHead(500).end("broken")],
    ["breaks off", (request) => request.socket.destroy()],
    [
      "floods",
      (_, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        const line = `: ${"x".repeat(65_000)}\n`;
        const flood = () => {
          while (!response.destroyed && response.write(line));
        };
        response.on("drain", flood);
        flood();
      },
    ],
    ["answers no protocol", (_, response) => response.end("<html>")],
  ])("%s is an error for the model and for the client", async (_, listener) => {
    const url = await serve(listener);
    const broken = httpServer(url, { authorization: "Bearer very-secret" }, 5000);
    const failure = await broken.listTools(never).catch((error: unknown) => error);
    expect(String(failure)).toMatch(/^McpUnavailable: The MCP server everything cannot be used\. /);
    expect(String(failure)).not.toContain("very-secret");
    const outcome = await broken.callTool("echo", "{}", never);
    expect(outcome.error).toBeDefined();
    expect(JSON.stringify(outcome)).not.toContain("very-secret");
    await broken.close();
    await stop();
  });

  test("sees the credentials it was given", async () => {
    const seen: (string | undefined)[] = [];
    const url = await serve((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(500).end();
    });
    const asking = httpServer(url, { authorization: "Bearer key" }, 5000);
    await asking.listTools(never).catch(() => undefined);
    expect(new Set(seen)).toEqual(new Set(["Bearer key"]));
    await asking.close();
    await stop();
  });

  test("sends events without end is cut off, long before the time of the call is over", async () => {
    const { promise: cut, resolve } = Promise.withResolvers<void>();
    const url = await serve((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const flood = () => {
        while (!response.destroyed && response.write("data: {}\n\n"));
      };
      response.on("drain", flood).on("close", resolve);
      flood();
    });
    const flooding = httpServer(url);
    const leaving = new AbortController();
    const listing = flooding.listTools(leaving.signal);
    await cut;
    leaving.abort(new Error("left"));
    await expect(listing).rejects.toThrow("left");
    await flooding.close();
    await stop();
  });

  test("breaks off its answers to have them continued gets a few requests only", async () => {
    const methods: (string | undefined)[] = [];
    const url = await serve((request, response) => {
      methods.push(request.method);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(`id: ${methods.length}\nretry: 0\ndata:\n\n`);
    });
    const breaking = httpServer(url, {}, 2000);
    await breaking.listTools(never).catch(() => undefined);
    await breaking.close();
    const continued = methods.filter((method) => method === "GET").length;
    // The gateway allows ten requests at once, and one more each second.
    expect(continued).toBeLessThanOrEqual(20);
    await stop();
  });

  test("is not asked for messages of its own", async () => {
    const fake = await startMcpServer();
    const asking = httpServer(fake.url);
    expect(await asking.callTool("look.up", "{}", never)).toEqual({ text: "found" });
    expect(fake.requests.map(({ method }) => method)).not.toContain("");
    await asking.close();
  });

  test("changes its list while it is used offers the new one at the next listing", async () => {
    let tools = [LOOKUP, ERASE];
    const fake = await startMcpServer({ tools: () => tools });
    const changing = httpServer(fake.url);
    const names = async () => (await changing.listTools(never)).map(({ name }) => name);
    expect(await names()).toEqual(["look.up", "erase"]);
    tools = [ERASE];
    expect(await names()).toEqual(["erase"]);
    await changing.close();
  });

  test("is not a program is reported as such", async () => {
    const missing = createMcpServer({
      label: "none",
      target: { type: "stdio", command: "/no/such/program", args: [], env: {} },
      timeoutMs: 5000,
    });
    await expect(missing.listTools(never)).rejects.toThrow("The MCP server none cannot be used");
    await missing.close();
  });

  test("never starts does not prevent shutdown", async () => {
    const silent = stdioServer(["-e", "setInterval(() => {}, 1000)"]);
    const leaving = new AbortController();
    const listing = silent.listTools(leaving.signal);
    leaving.abort(new Error("left"));
    await expect(listing).rejects.toThrow("left");
    await silent.close();
  });

  test("exits immediately is reported as such, and is started again for the next call", async () => {
    const dying = stdioServer(["-e", "process.exit(1)"]);
    await expect(dying.listTools(never)).rejects.toThrow("cannot be used");
    expect(await dying.callTool("echo", "{}", never)).toHaveProperty("error");
    await dying.close();
  });
});
