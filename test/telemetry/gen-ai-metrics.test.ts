/** Metrics under the conventions' names, and the dashboard that shows them. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createRegistry } from "../../src/telemetry/metrics.ts";
import {
  createGenAiMeters,
  observeGenAi,
  observeTool,
} from "../../src/telemetry/gen-ai-metrics.ts";
import { createModels } from "../../src/models/models.ts";
import { startTestGateway } from "../helpers/gateway.ts";
import { fakeEngine } from "../helpers/fake-engine.ts";

const LABELS = 'gen_ai_operation_name="chat",gen_ai_provider_name="fake",gen_ai_request_model="m"';

function metersOf() {
  const registry = createRegistry();
  const meters = createGenAiMeters(registry);
  const [model] = createModels([{ id: "m", engine: fakeEngine() }], {
    newCallId: () => "call_1",
  }).all;
  if (model === undefined) throw new Error("no model");
  return {
    registry,
    observe: (ended: Parameters<typeof observeGenAi>[2]) => observeGenAi(meters, model, ended),
  };
}

const USAGE = {
  promptTokens: 100,
  cachedTokens: 0,
  completionTokens: 11,
  reasoningTokens: 4,
  engineCalls: 1,
};

test("a turn is in each of them, in the conventions' buckets", () => {
  const { registry, observe } = metersOf();
  observe({ seconds: 1.25, firstTokenSeconds: 0.25, usage: USAGE, error: undefined });
  const lines = registry.toText().split("\n");
  expect(lines).toEqual(
    expect.arrayContaining([
      `gen_ai_server_request_duration_seconds_bucket{${LABELS},le="0.64"} 0`,
      `gen_ai_server_request_duration_seconds_bucket{${LABELS},le="1.28"} 1`,
      `gen_ai_server_time_to_first_token_seconds_bucket{${LABELS},le="0.25"} 1`,
      // One second for ten tokens.
      `gen_ai_server_time_per_output_token_seconds_bucket{${LABELS},le="0.1"} 1`,
      `gen_ai_client_token_usage_sum{${LABELS},gen_ai_token_type="input"} 100`,
      `gen_ai_client_token_usage_bucket{${LABELS},gen_ai_token_type="output",le="16"} 1`,
      `gen_ai_client_token_usage_bucket{${LABELS},gen_ai_token_type="output",le="67108864"} 1`,
    ]),
  );
});

test("a turn that failed has its kind of error, and no tokens", () => {
  const { registry, observe } = metersOf();
  observe({ seconds: 1, firstTokenSeconds: 0.5, usage: undefined, error: new TypeError("words") });
  const text = registry.toText();
  expect(text).toContain(
    `gen_ai_server_request_duration_seconds_count{${LABELS},error_type="TypeError"} 1`,
  );
  expect(text).not.toContain("gen_ai_client_token_usage_sum");
  expect(text).not.toContain("words");
});

test("a turn of one token has no time per token", () => {
  const { registry, observe } = metersOf();
  const usage = { ...USAGE, completionTokens: 1 };
  observe({ seconds: 1, firstTokenSeconds: 0.5, usage, error: undefined });
  expect(registry.toText()).not.toContain("time_per_output_token_seconds_count");
});

test("a tool that the gateway runs has the time from its call to its result", () => {
  const registry = createRegistry();
  const meters = createGenAiMeters(registry);
  observeTool(meters, "python", 0.3, false);
  observeTool(meters, "python", 9, true);
  const labels = 'gen_ai_tool_name="python",gen_ai_tool_type="extension"';
  const name = "gen_ai_execute_tool_duration_seconds";
  expect(registry.toText().split("\n")).toEqual(
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
