/** Turns without an OpenTelemetry SDK. */
import { afterAll, expect, test, vi } from "vitest";
import { startTracing } from "../../src/node/telemetry/start-tracing.ts";
import { startTestGateway, testLog } from "../helpers/gateway.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";

afterAll(() => {
  vi.doUnmock("@opentelemetry/sdk-node");
});

test("the engine gets no headers, whatever the client has sent", async () => {
  const engine = scriptedEngine(["<|channel|>final<|message|>Hi<|return|>"]);
  const gateway = await startTestGateway({ engine });
  const response = await fetch(`${gateway.baseURL}/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    },
    body: JSON.stringify({
      model: "openai/gpt-oss-20b",
      messages: [{ role: "user", content: "Hi" }],
    }),
  });
  expect(response.status).toBe(200);
  await response.text();
  await gateway.close();
  expect(engine.requests[0]).not.toHaveProperty("headers");
  const turn = gateway.logged.find(({ event }) => event === "turn");
  expect(turn).toMatchObject({ finish: "stop" });
  expect(turn).not.toHaveProperty("traceId");
});

test.each([
  [{}],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "" }],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9", OTEL_SDK_DISABLED: "true" }],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9", OTEL_TRACES_EXPORTER: "none" }],
  [{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "http://127.0.0.1:9" }],
])("%j does not enable traces", async (environment) => {
  vi.doMock("@opentelemetry/sdk-node", () => {
    throw new Error("must not be loaded");
  });
  const tracing = await startTracing(environment, testLog());
  expect(tracing.capturesContent).toBe(false);
  await tracing.close();
});
