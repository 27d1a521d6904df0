import { describe, expect, test } from "vitest";
import type { GatewayToolResult } from "../../src/tools/gateway-tool.ts";
import { limitCalls } from "../../src/tools/call-quota.ts";
import type { Toolbox } from "../../src/tools/toolbox.ts";
import { type FakeTool, fakeBrowser, fakeTool } from "../helpers/fake-tool.ts";
import { createBrowsingApp, MODEL } from "../helpers/browsing-app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";

const HOUR = 3_600_000;
const never = new AbortController().signal;

interface Limited {
  readonly python: FakeTool;
  readonly browser: FakeTool;
  readonly call: (tenant: string, tool?: "browser" | "python") => Promise<GatewayToolResult>;
  readonly clock: { now: number };
}

function limited(perHour: (tenant: string) => number | undefined): Limited {
  const clock = { now: 0 };
  const python = fakeTool();
  const browser = fakeBrowser();
  const toolbox: Toolbox = limitCalls(
    { python: () => python, browser: () => browser },
    { perHour, now: () => clock.now },
  );
  return {
    python,
    browser,
    clock,
    async call(tenant, name = "python") {
      const tool = toolbox[name]?.({});
      const run = await tool?.open({ tenant, turnId: "t", saved: undefined, signal: never });
      const recipient = name === "python" ? name : "browser.search";
      const result = await run?.run({ id: "c", recipient, body: "1" }, never);
      await run?.close();
      if (result === undefined) throw new Error("no tool");
      return result;
    },
  };
}

describe("a quota of two calls an hour", () => {
  test("counts both tools, and only the tenant's own calls", async () => {
    const { call, python, browser } = limited(() => 2);
    expect(await call("a")).toMatchObject({ failed: false });
    expect(await call("a", "browser")).toMatchObject({ failed: false });
    expect(await call("a")).toMatchObject({ failed: true, reason: "limit" });
    expect(await call("a", "browser")).toMatchObject({ shown: { type: "search", results: [] } });
    expect(await call("b")).toMatchObject({ failed: false });
    expect([python.calls.length, browser.calls.length]).toEqual([2, 1]);
    expect([python.openRuns(), browser.openRuns()]).toEqual([0, 0]);
  });

  test("comes back evenly, and never exceeds itself", async () => {
    const { call, clock } = limited(() => 2);
    await call("a");
    await call("a");
    clock.now += HOUR / 2;
    expect(await call("a")).toMatchObject({ failed: false });
    expect(await call("a")).toMatchObject({ failed: true });
    clock.now += 100 * HOUR;
    const results = [await call("a"), await call("a"), await call("a")];
    expect(results.map(({ failed }) => failed)).toEqual([false, false, true]);
  });

  test("a clock that is set back gives nothing and takes nothing", async () => {
    const { call, clock } = limited(() => 2);
    clock.now = HOUR;
    await call("a");
    clock.now = 0;
    expect(await call("a")).toMatchObject({ failed: false });
    expect(await call("a")).toMatchObject({ failed: true });
  });
});

test("without a quota nothing is limited", async () => {
  const { call } = limited(() => undefined);
  for (let made = 0; made < 50; made++) expect(await call("a")).toMatchObject({ failed: false });
});

test("the setting limits a key's calls over all of its requests", async () => {
  const python = fakeTool();
  const code = " to=python<|channel|>analysis code<|message|>1<|call|>";
  const final = "<|channel|>final<|message|>ok<|return|>";
  const { client } = createBrowsingApp({
    engine: scriptedEngine([code, final, code, final]),
    toolbox: { python: () => python },
    settings: { maxBuiltinCallsPerKey: 1 },
  });
  const ask = () =>
    client.responses.create({
      model: MODEL,
      input: "?",
      tools: [{ type: "code_interpreter", container: { type: "auto" } }],
    });
  const outputs = [await ask(), await ask()].map(({ output }) => output);
  expect(outputs.map(([item]) => item)).toMatchObject([
    { type: "code_interpreter_call", status: "completed" },
    { type: "code_interpreter_call", status: "failed" },
  ]);
  expect(python.calls).toHaveLength(1);
});
