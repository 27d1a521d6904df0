import { expect, test } from "vitest";
import { toBackends } from "../../src/config/backends.ts";
import { EngineError } from "../../src/index.ts";
import { createModelFinder } from "../../src/models/find-models.ts";
import { type Answer, jsonAnswer, scriptTransport } from "../engines/support.ts";
import { testSettings } from "../helpers/gateway.ts";

const never = new AbortController().signal;
const url = "http://engine:8000";

/** A server's list of models, by the names and the kind that stands there as their owner. */
const offer = (names: readonly string[], owner = "vllm"): Answer =>
  jsonAnswer({ data: names.map((id) => ({ id, owned_by: owner })) });

const TAGS = (names: readonly string[]): Answer =>
  jsonAnswer({ models: names.map((name) => ({ name })) });

/** Answers each URL by the script; any other one is refused a connection. */
function servers(script: Readonly<Record<string, Answer>>) {
  return scriptTransport(({ url: asked }) => {
    const { origin } = new URL(asked);
    const known = Object.keys(script).some((each) => each.startsWith(origin));
    if (!known) return new EngineError("unreachable", "Cannot reach it.");
    return script[asked] ?? jsonAnswer({ error: "no such path" }, 404);
  });
}

async function find(given: object, script: Readonly<Record<string, Answer>>) {
  const finder = createModelFinder(servers(script));
  const { settings, isComplete } = await finder.find(testSettings({ ...given }), never);
  const served = toBackends(settings).map(({ servedName, name, model, aliases }) => ({
    servedName,
    name,
    model,
    aliases,
  }));
  return { isComplete, served };
}

const EXAMPLE = "openai/gpt-oss-20b";

test("the only model of a server is served, and found by the default name too", async () => {
  const list = { [`${url}/v1/models`]: offer(["openai/gpt-oss-120b"]) };
  expect(await find({ url }, list)).toEqual({
    isComplete: true,
    served: [
      {
        servedName: "openai/gpt-oss-120b",
        name: "vllm",
        model: "openai/gpt-oss-120b",
        aliases: [EXAMPLE],
      },
    ],
  });
});

test.each([
  ["the only one, whatever its name", ["mine"], ["mine"]],
  [
    "of several, each gpt-oss",
    ["llama3", "gpt-oss-20b", "GPT_OSS", "gptoss-x"],
    ["gpt-oss-20b", "gptoss-x"],
  ],
  ["none of several without a gpt-oss", ["llama3", "qwen"], []],
  ["no name beyond 200 characters", ["gpt-oss".repeat(30), "llama3", "gpt-oss"], ["gpt-oss"]],
  [
    "at most sixteen",
    Array.from({ length: 20 }, (_, n) => `gpt-oss-${n}`),
    Array.from({ length: 16 }, (_, n) => `gpt-oss-${n}`),
  ],
])("%s", async (_, offered, served) => {
  const found = await find({ url }, { [`${url}/v1/models`]: offer(offered) });
  expect(found.isComplete).toBe(served.length > 0);
  const names = found.served.map(({ model }) => model);
  // A backend keeps the default name until its model is found.
  expect(names).toEqual(served.length > 0 ? served : [EXAMPLE]);
});

test("Ollama's only model is served if it is a gpt-oss", async () => {
  const list = offer(["x"], "library");
  const answers = (names: readonly string[]) => ({
    [`${url}/v1/models`]: list,
    [`${url}/api/tags`]: TAGS(names),
  });
  expect((await find({ url }, answers(["llama3:latest"]))).isComplete).toBe(false);
  expect((await find({ url }, answers(["gpt-oss:20b"]))).served).toMatchObject([
    { servedName: "gpt-oss:20b", name: "ollama", aliases: [EXAMPLE] },
  ]);
});

test("a file's path is hidden from clients", async () => {
  const list = offer(["/models/gpt-oss-120b-mxfp4.gguf"], "llamacpp");
  expect((await find({ url }, { [`${url}/v1/models`]: list })).served).toMatchObject([
    { servedName: "openai/gpt-oss-120b", model: "/models/gpt-oss-120b-mxfp4.gguf" },
  ]);
});

test("the operator's names stay: of the model, and of what clients call it", async () => {
  const list = { [`${url}/v1/models`]: offer(["gpt-oss-a", "gpt-oss-b"]) };
  expect((await find({ url, model: "mine" }, list)).served).toMatchObject([
    { servedName: "mine", model: "mine", aliases: [] },
  ]);
  expect((await find({ url, servedName: "house" }, list)).served).toMatchObject([
    { servedName: "house", model: "gpt-oss-a" },
  ]);
});

test("the finder queries a named kind at its default address", async () => {
  const list = { "http://127.0.0.1:30000/v1/models": offer(["gpt-oss"], "sglang") };
  expect((await find({ engine: "sglang" }, list)).served).toMatchObject([
    { servedName: "gpt-oss", name: "sglang" },
  ]);
});

test("the finder queries neither the demo nor a hosted provider", async () => {
  for (const given of [{}, { engine: "fireworks", engineKey: "k" }]) {
    const transport = servers({});
    const settings = testSettings(given);
    expect(await createModelFinder(transport).find(settings, never)).toEqual({
      settings,
      isComplete: true,
    });
    expect(transport.requests).toEqual([]);
  }
});

test("a server that is down counts as one more of the same models", async () => {
  const backends = [{ url }, { url: "http://down:8000" }];
  const found = await find({ backends }, { [`${url}/v1/models`]: offer(["gpt-oss-120b"]) });
  expect(found.isComplete).toBe(false);
  expect(found.served).toMatchObject([
    { servedName: "gpt-oss-120b", name: "vllm" },
    { servedName: "gpt-oss-120b", name: "auto" },
  ]);
});

test("a server keeps its models' names while it is down", async () => {
  let isUp = true;
  const transport = scriptTransport(() =>
    isUp ? offer(["gpt-oss-120b"]) : new EngineError("unreachable", "Cannot reach it."),
  );
  const finder = createModelFinder(transport);
  const first = await finder.find(testSettings({ url }), never);
  isUp = false;
  expect(await finder.find(testSettings({ url }), never)).toEqual(first);
});

test("the server's key and headers go with the question", async () => {
  const transport = servers({ [`${url}/v1/models`]: offer(["gpt-oss"]) });
  const backends = [{ url, engineKey: "secret", headers: { "x-team": "a" } }];
  await createModelFinder(transport).find(testSettings({ backends }), never);
  expect(transport.requests[0]?.headers).toMatchObject({
    authorization: "Bearer secret",
    "x-team": "a",
  });
});
