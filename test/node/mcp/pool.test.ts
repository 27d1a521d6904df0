/** Connections to MCP servers: sharing, limits, and when they are closed. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { eventually } from "../../helpers/eventually.ts";
import { McpPool, type McpPoolOptions } from "../../../src/node/mcp/pool.ts";

const never = new AbortController().signal;
type McpServer = ReturnType<McpPool["server"]>;

const TOOL = { name: "t", description: "", inputSchema: {}, readOnly: false };

function setup(options: McpPoolOptions = {}, listTools = () => Promise.resolve([TOOL])) {
  const log: string[] = [];
  const pool = new McpPool({ idleMs: 1000, ...options });
  let finish: (() => void)[] = [];
  const open = (key: string, group = "t") =>
    pool.server(key, { key, group }, (): McpServer => {
      log.push(`open ${key}`);
      return {
        label: key,
        listTools: () => {
          log.push(`list ${key}`);
          return listTools();
        },
        callTool: () =>
          new Promise((resolve) => finish.push(() => resolve({ text: `called ${key}` }))),
        close: () => {
          log.push(`close ${key}`);
          return Promise.resolve();
        },
      };
    });
  const finishCalls = () => {
    for (const each of finish) each();
    finish = [];
  };
  return { pool, open, log, finishCalls };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("a key has one connection, which is closed when it is idle", async () => {
  const { pool, open, log } = setup();
  await open("a").listTools(never);
  await open("a").listTools(never);
  expect(log).toEqual(["open a", "list a"]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(log).toEqual(["open a", "list a", "close a"]);
  expect(pool.size).toBe(0);
  await open("a").listTools(never);
  expect(log.slice(3)).toEqual(["open a", "list a"]);
});

test("a connection in use is not closed, however long the call takes", async () => {
  const { open, log, finishCalls } = setup();
  const call = open("a").callTool("t", "{}", never);
  await vi.advanceTimersByTimeAsync(5000);
  expect(log).toEqual(["open a"]);
  finishCalls();
  expect(await call).toEqual({ text: "called a" });
  await vi.advanceTimersByTimeAsync(1000);
  expect(log).toEqual(["open a", "close a"]);
});

test("a retired pool closes idle connections, and the others when their calls have ended", async () => {
  const { pool, open, log, finishCalls } = setup();
  await open("idle").listTools(never);
  const call = open("busy").callTool("t", "{}", never);
  await pool.retire();
  expect(log).toEqual(["open idle", "list idle", "open busy", "close idle"]);
  finishCalls();
  await call;
  await eventually(() => expect(log.at(-1)).toBe("close busy"));
  // A turn that is still running gets a connection for its call alone.
  await open("late").listTools(never);
  expect(log.slice(-3)).toEqual(["open late", "list late", "close late"]);
  expect(pool.size).toBe(0);
});

test("a list of tools is cached for a minute, and concurrent requests share one", async () => {
  const { open, log } = setup({ idleMs: 600_000, listingMs: 60_000 });
  await Promise.all([open("a").listTools(never), open("a").listTools(never)]);
  await vi.advanceTimersByTimeAsync(59_000);
  await open("a").listTools(never);
  expect(log).toEqual(["open a", "list a"]);
  await vi.advanceTimersByTimeAsync(2000);
  await open("a").listTools(never);
  expect(log).toEqual(["open a", "list a", "list a"]);
});

test("a failed list does not delay the next request, and is requested again after a few seconds", async () => {
  const { open, log } = setup({ idleMs: 600_000 }, () => Promise.reject(new Error("down")));
  await expect(open("a").listTools(never)).rejects.toThrow("down");
  await expect(open("a").listTools(never)).rejects.toThrow("down");
  expect(log).toEqual(["open a", "list a"]);
  await vi.advanceTimersByTimeAsync(5000);
  await expect(open("a").listTools(never)).rejects.toThrow("down");
  expect(log).toEqual(["open a", "list a", "list a"]);
});

test("beyond the maximum, the least recently used connection is closed", async () => {
  const { pool, open, log } = setup({ maxOfGroup: 2 });
  await open("a").listTools(never);
  await open("b").listTools(never);
  await open("a").listTools(never);
  await open("c").listTools(never);
  expect(log.at(-2)).not.toBe("close a");
  expect(log).toContain("close b");
  expect(pool.size).toBe(2);
  // Other tenants have limits of their own.
  await open("d", "other").listTools(never);
  expect(pool.size).toBe(3);
});

test("if all connections are in use, a further server is reported as unavailable", async () => {
  const { open, finishCalls } = setup({ maxOfGroup: 1 });
  const call = open("a").callTool("t", "{}", never);
  await expect(open("b").listTools(never)).rejects.toThrow("Too many MCP servers are in use.");
  expect(await open("b").callTool("t", "{}", never)).toMatchObject({
    error: { type: "protocol", message: "Too many MCP servers are in use." },
  });
  finishCalls();
  await call;
});
