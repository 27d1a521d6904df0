import { describe, expect, test } from "vitest";
import { createMcpPython } from "../../../src/node/python/mcp-runtime.ts";
import { createPythonTool } from "../../../src/tools/python/tool.ts";
import { type FakeMcpOptions, startMcpServer } from "../../helpers/mcp-server.ts";

const { signal } = new AbortController();
const SESSION = { tenant: "acme", turnId: "t1", signal };
const codeTool = (name: string) => ({
  name,
  inputSchema: { type: "object", properties: { code: { type: "string" } } },
});

async function start(options: FakeMcpOptions = {}) {
  const server = await startMcpServer({ tools: () => [codeTool("run")], ...options });
  const reasons: string[] = [];
  const runtime = createMcpPython({
    url: server.url,
    key: "secret",
    timeoutMs: 20_000,
    newId: () => "session-1",
    onFailure: (reason) => reasons.push(reason),
  });
  const call = async (body: string, saved?: string) => {
    const run = await createPythonTool(runtime).open({ ...SESSION, saved });
    const result = await run.run({ id: "c1", recipient: "python", body }, signal);
    await run.close();
    return result;
  };
  return { server, runtime, call, reasons };
}

test("code is sent to the tool that accepts it, and its output is returned", async () => {
  const { server, call } = await start({
    tools: () => [{ name: "other", inputSchema: { type: "object" } }, codeTool("run")],
    answer: () => "55\n",
  });
  expect(await call("print(55)")).toMatchObject({
    text: "55\n",
    failed: false,
    shown: {
      type: "code",
      containerId: "cntr_session-1",
      outputs: [{ type: "logs", logs: "55\n" }],
    },
  });
  expect(server.calls).toEqual([{ name: "run", arguments: { code: "print(55)" } }]);
  expect(server.requests[0]?.headers.authorization).toBe("Bearer secret");
});

test("of several tools for code, the one named python is used", async () => {
  const { server, call } = await start({ tools: () => [codeTool("bash"), codeTool("python")] });
  await call("1");
  expect(server.calls).toMatchObject([{ name: "python" }]);
});

test("each turn has its own session at the server, and the description says that nothing is kept", async () => {
  const { server, call, runtime } = await start();
  await call("x = 1");
  const { text } = await call("x", "session-1");
  expect(text).toBe("found");
  expect(server.sessions()).toBe(2);
  const { namespace } = createPythonTool(runtime);
  expect(namespace?.description).toContain("Your python environment is not shared between calls");
});

describe("what goes wrong", () => {
  test("an exception in the code is output", async () => {
    const { call } = await start({
      answer: () => ({ isError: true, content: [{ type: "text", text: "NameError: x" }] }),
    });
    expect(await call("x")).toMatchObject({ text: "NameError: x", failed: false });
  });

  test.each<[string, FakeMcpOptions]>([
    ["has no tool for code", { tools: () => [] }],
    ["has two of them", { tools: () => [codeTool("a"), codeTool("b")] }],
    [
      "fails",
      {
        intercept: (_, response) => {
          response.writeHead(500).end();
          return true;
        },
      },
    ],
  ])("a server that %s is an error for the model", async (_, options) => {
    const { call } = await start(options);
    expect(await call("1")).toMatchObject({
      text: "[ERROR] The Python sandbox does not answer. Answer without Python.",
      failed: true,
    });
  });

  test("the reason for a failure is logged", async () => {
    const { call, reasons } = await start({
      intercept: (_, response) => {
        response.writeHead(500).end();
        return true;
      },
    });
    await call("1");
    expect(reasons).toHaveLength(1);
  });
});
