/** Programs that flood, do not read, and leave processes behind. */
import { describe, expect, test } from "vitest";
import { Allowance } from "../../../src/node/mcp/allowance.ts";
import { isRunning, processesOf, startMcpProgram } from "../../helpers/mcp-program.ts";

const never = new AbortController().signal;
/** A process that ignores SIGTERM. */
const STUBBORN = 'process.on("SIGTERM", () => undefined); setInterval(() => undefined, 1000);';

function running(pids: readonly number[]): number[] {
  return pids.filter((pid) => isRunning(pid));
}

describe("S20: a program is stopped with all that it has started", () => {
  test.each([
    ["empty lines", '"\\n"'],
    ["garbage", '"x\\n"'],
    ["a line without an end", '"x".repeat(65536)'],
    [
      "notifications",
      `JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: 1 } }) + "\\n"`,
    ],
    ["pings", 'JSON.stringify({ jsonrpc: "2.0", id: "p", method: "ping" }) + "\\n"'],
    ["answers without a request", 'JSON.stringify({ jsonrpc: "2.0", id: 99, result: {} }) + "\\n"'],
  ])("that sends %s after a call", async (_, text) => {
    const server = startMcpProgram(`
      const { call } = on;
      on.call = (id) => { spawn(${JSON.stringify(STUBBORN)}); call(id); flood(${text}); };`);
    const first = await processesOf(server);
    await expect.poll(() => running(first)).toEqual([]);
    // The next call finds another process.
    const second = await processesOf(server);
    await expect.poll(() => running(second)).toEqual([]);
    await server.close();
  });

  test("that sends progress without end during a call", async () => {
    const server = startMcpProgram(`
      on.call = () => flood(JSON.stringify({
        jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: 1 },
      }) + "\\n");`);
    expect(await server.callTool("call", "{}", never)).toMatchObject({
      error: { type: "protocol" },
    });
    await server.close();
  });

  test("that does not read its input", async () => {
    const server = startMcpProgram(`
      const { call } = on;
      on.call = (id) => { call(id); process.stdin.pause(); };`);
    const pids = await processesOf(server);
    const outcome = server.callTool("call", JSON.stringify({ x: "x".repeat(5_000_000) }), never);
    expect(await outcome).toHaveProperty("error");
    await expect.poll(() => running(pids)).toEqual([]);
    await server.close();
  });

  test("when it is closed", async () => {
    const server = startMcpProgram(`spawn(${JSON.stringify(STUBBORN)}); ${STUBBORN}`);
    const pids = await processesOf(server);
    expect(running(pids)).toHaveLength(2);
    await server.close();
    await expect.poll(() => running(pids)).toEqual([]);
  });

  test("when it exits by itself", async () => {
    const server = startMcpProgram(`
      const { call } = on;
      spawn(${JSON.stringify(STUBBORN)});
      on.call = (id) => { call(id); setTimeout(() => process.exit(), 10); };`);
    const pids = await processesOf(server);
    await expect.poll(() => running(pids)).toEqual([]);
    await server.close();
  });
});

test("a chatty program is served: a hundred messages with each of ten calls", async () => {
  const server = startMcpProgram(`
    const { call } = on;
    on.call = (id) => {
      for (let n = 0; n < 100; n++) say({ method: "notifications/message", params: { level: "info", data: n } });
      call(id);
    };`);
  const pids = await processesOf(server);
  for (let count = 0; count < 9; count++) expect(await processesOf(server)).toEqual(pids);
  await server.close();
});

test("a program that exits at an unknown question is started again, and asked as older ones are", async () => {
  const server = startMcpProgram('on["server/discover"] = () => process.exit(1);');
  expect(await server.listTools(never)).toMatchObject([{ name: "call" }]);
  await server.close();
});

test("only the first of a hundred thousand tools are read", async () => {
  const server = startMcpProgram(`
    on.list = (id) => answer(id, { tools: [...Array(1000).fill(tool), ...Array(100000).fill(1)] });`);
  expect(await server.listTools(never)).toHaveLength(128);
  await server.close();
});

test("a list of tools that never ends is refused", async () => {
  const server = startMcpProgram(`
    let page = 0;
    on.list = (id) => answer(id, { tools: [tool], nextCursor: String(++page) });`);
  await expect(server.listTools(never)).rejects.toMatchObject({ name: "McpUnavailable" });
  await server.close();
});

test("an allowance is regained with time, up to its limit", () => {
  let now = 0;
  const allowance = new Allowance(10, 2, () => now);
  expect(Array.from({ length: 11 }, () => allowance.take(1)).filter((taken) => taken)).toHaveLength(
    10,
  );
  now = 1000;
  expect([allowance.take(1), allowance.take(1), allowance.take(1)]).toEqual([true, true, false]);
  now = 1_000_000;
  expect([allowance.take(11), allowance.take(10), allowance.take(1)]).toEqual([false, true, false]);
});
