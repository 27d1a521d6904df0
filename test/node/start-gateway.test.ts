import { expect, onTestFinished, test } from "vitest";
import { createEngine, resolveSettings, SettingsError } from "../../src/index.ts";
import { loadSettings, startGateway, type StartOptions } from "../../src/node/index.ts";
import { toOptionInputs } from "../../src/config/option-inputs.ts";
import { startEngineServer } from "../helpers/engine-server.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";

async function start(options: StartOptions) {
  const gateway = await startGateway({ port: 0, log: "silent", ...options });
  onTestFinished(() => gateway.close());
  const response = await fetch(`${gateway.baseUrl}/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ messages: [{ role: "user", content: "Hello!" }] }),
  });
  return { gateway, status: response.status, text: await response.text() };
}

test("a kind of engine, a URL and a port are enough", async () => {
  const server = await startEngineServer(createEngine("demo", { model: "demo" }));
  onTestFinished(() => server.close());
  const { status, text } = await start({ engine: "vllm", url: server.url });
  expect(status).toBe(200);
  expect(text).toContain("demo engine");
});

test("an engine of one's own is served under the name of the options", async () => {
  const engine = scriptedEngine(["<|channel|>final<|message|>Fine.<|return|>"]);
  const events: string[] = [];
  const { gateway, text } = await start({
    engine,
    servedName: "house",
    log: ({ event }) => events.push(event),
  });
  expect(text).toContain("Fine.");
  expect(gateway.models.all.map(({ id }) => id)).toEqual(["house"]);
  expect(events).toContain("start");
});

test("an unknown option is named, with the one that may be meant", async () => {
  const options: object = { ulr: "http://127.0.0.1:8000", port: 0 };
  await expect(startGateway(options)).rejects.toThrow(
    new SettingsError(["startGateway: there is no option ulr. Did you mean url?"]),
  );
  await expect(startGateway({ port: 70_000 })).rejects.toThrow(/^startGateway: port: /);
});

test.each([
  [[]],
  [["--engine", "vllm", "--url", "http://gpu:8000", "--model", "m", "--max-body-bytes", "1_000"]],
  [["--keys", `alice:${"a".repeat(64)}`, "--host", "0.0.0.0", "--aliases", "x,y"]],
  [["--presets", '{"review":{"model":"gpt-oss-20b","effort":"high","lock":["effort"]}}']],
  [["--backends", '[{"engine":"vllm","url":"http://a:1","model":"m"},{"engine":"demo"}]']],
  [["--mcp-servers", '{"docs":{"url":"https://mcp.example/x"}}', "--builtin-tools", "browser"]],
  [["--public-url", "https://llm.example.com/team", "--open", "--host", "0.0.0.0"]],
  [["--engine", "demo", "--model", "m", "--store", "sqlite:state.db"]],
  [["--model", "gpt-oss-20b.gguf", "--no-inspect", "--log", "debug"]],
])("settings that were loaded from %j may be given as options, unchanged", (args) => {
  const { settings } = loadSettings(args, {});
  const inputs = toOptionInputs(settings, { caller: "startGateway", own: [], values: {} });
  expect(resolveSettings(inputs, { public: false })).toEqual(settings);
});
