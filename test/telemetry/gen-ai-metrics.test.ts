/** Metrics under the conventions' names, and the dashboard that shows them. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Engine, EngineError } from "../../src/index.ts";
import { appOf } from "../helpers/app.ts";
import { startTestGateway, testSettings } from "../helpers/gateway.ts";
import { fakeEngine } from "../helpers/fake-engine.ts";
import { fakeTool } from "../helpers/fake-tool.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { spelledIds } from "../helpers/spelled.ts";

const LABELS = 'gen_ai_operation_name="chat",gen_ai_provider_name="fake",gen_ai_request_model="m"';

/** The metrics after a turn. Its clock is advanced by the engine and the tools. */
async function metricsOf(
  engine: (advance: (ms: number) => void) => Engine,
  {
    status = 200,
    answer,
  }: {
    status?: number;
    answer?: (call: number, advance: (ms: number) => void) => string;
  } = {},
): Promise<string> {
  let time = 0;
  const advance = (ms: number) => void (time += ms);
  let calls = 0;
  const python = () => fakeTool({ answer: () => answer?.(calls++, advance) ?? "" });
  const app = appOf(testSettings({ metrics: "open" }), [{ id: "m", engine: engine(advance) }], {
    clock: () => time,
    toolbox: { python },
  });
  const response = await app.request("/v1/chat/completions", {
    method: "POST",
    body: JSON.stringify({
      messages: [{ role: "user", content: "Hi" }],
      tools: answer && [{ type: "code_interpreter" }],
    }),
  });
  await response.text();
  expect(response.status).toBe(status);
  return (await app.request("/metrics")).text();
}

/** Needs 250 ms to the first token, and a second from there to the end. */
const engineOf =
  (completionTokens: number, fail?: Error) =>
  (advance: (ms: number) => void): Engine => ({
    ...fakeEngine(),
    async *complete() {
      advance(250);
      yield { type: "ids", ids: spelledIds("<|channel|>final<|message|>Hi") };
      advance(1000);
      if (fail) throw fail;
      yield { type: "ids", ids: spelledIds("<|return|>") };
      const usage = { promptTokens: 100, completionTokens };
      yield { type: "finish", reason: "stop", nativeReason: "stop", usage };
    },
  });

test("a turn is in each of them, in the conventions' buckets", async () => {
  const lines = (await metricsOf(engineOf(11))).split("\n");
  expect(lines).toEqual(
    expect.arrayContaining([
      `gen_ai_server_request_duration_seconds_bucket{${LABELS},le="0.64"} 0`,
      `gen_ai_server_request_duration_seconds_bucket{${LABELS},le="1.28"} 1`,
      `gen_ai_server_time_to_first_token_seconds_bucket{${LABELS},le="0.1"} 0`,
      `gen_ai_server_time_to_first_token_seconds_bucket{${LABELS},le="0.25"} 1`,
      // Ten tokens after the first take one second.
      `gen_ai_server_time_per_output_token_seconds_bucket{${LABELS},le="0.1"} 1`,
      `gen_ai_client_token_usage_sum{${LABELS},gen_ai_token_type="input"} 100`,
      `gen_ai_client_token_usage_bucket{${LABELS},gen_ai_token_type="output",le="16"} 1`,
      `gen_ai_client_token_usage_bucket{${LABELS},gen_ai_token_type="output",le="67108864"} 1`,
    ]),
  );
  const bounds = lines.flatMap((line) => {
    const bound = /^gen_ai_server_request_duration_seconds_bucket.*le="([\d.]+)"/.exec(line)?.[1];
    return bound === undefined ? [] : Number(bound);
  });
  expect(bounds).toEqual(bounds.map((_, doublings) => 0.01 * 2 ** doublings));
});

test("a turn that failed has its kind of error, and no tokens", async () => {
  const text = await metricsOf(engineOf(11, new EngineError("overloaded", "words")), {
    status: 503,
  });
  expect(text).toContain(
    `gen_ai_server_request_duration_seconds_count{${LABELS},error_type="overloaded"} 1`,
  );
  expect(text).not.toContain("gen_ai_client_token_usage_sum");
  expect(text).not.toContain("words");
});

test("a turn of one token has no time per token", async () => {
  const text = await metricsOf(engineOf(1));
  expect(text).toContain("gen_ai_server_time_to_first_token_seconds_count");
  expect(text).not.toContain("time_per_output_token_seconds_count");
});

test("a tool that the gateway runs has the time from its call to its result", async () => {
  const call = "<|channel|>analysis to=python code<|message|>print(1)<|call|>";
  const engine = scriptedEngine([call, call, "<|channel|>final<|message|>Hi.<|return|>"]);
  const text = await metricsOf(() => engine, {
    answer(index, advance) {
      advance(index === 0 ? 300 : 9000);
      if (index === 0) return "1";
      throw new Error("broken");
    },
  });
  const labels = 'gen_ai_tool_name="python",gen_ai_tool_type="extension"';
  const name = "gen_ai_execute_tool_duration_seconds";
  expect(text.split("\n")).toEqual(
    expect.arrayContaining([
      `${name}_bucket{${labels},le="0.16"} 0`,
      `${name}_bucket{${labels},le="0.32"} 1`,
      `${name}_sum{${labels},error_type="tool_error"} 9`,
    ]),
  );
});

test("every metric that the dashboard shows exists", async () => {
  const gateway = await startTestGateway({ settings: { metrics: "open" } });
  const text = await (await fetch(new URL("/metrics", gateway.baseURL))).text();
  await gateway.close();
  const known = new Map(
    Array.from(text.matchAll(/^# TYPE (\w+) (\w+)$/gm), ([, name = "", type = ""]) => [name, type]),
  );
  const path = new URL("../../deploy/grafana/harmony-gateway.json", import.meta.url);
  const dashboard: { panels: { title: string; targets?: { expr: string }[] }[] } = JSON.parse(
    readFileSync(path, "utf8"),
  );
  const queries = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  expect(queries.length).toBeGreaterThan(10);
  const named = queries.flatMap(
    (expr) => expr.match(/\b(?:harmony_gateway|gen_ai_\w+?)_\w+/g) ?? [],
  );
  const unknown = named.filter((name) => {
    const family = name.replace(/_(bucket|sum|count)$/, "");
    // Labels of the conventions begin like their metrics.
    if (/^gen_ai_(request_model|token_type|operation_name|provider_name|tool_name)$/.test(name))
      return false;
    return !known.has(name) && known.get(family) !== "histogram";
  });
  expect(unknown).toEqual([]);
  expect(new Set(dashboard.panels.map(({ title }) => title)).size).toBe(dashboard.panels.length);
});
