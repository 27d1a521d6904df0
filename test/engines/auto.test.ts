import { describe, expect, onTestFinished, test, vi } from "vitest";
import { chooseModel } from "../../src/engines/auto.ts";
import { createEngine, EngineError, type Transport } from "../../src/index.ts";
import { findServer, SERVER_KINDS } from "../../src/engines/find-kind.ts";
import { requestText } from "../helpers/request-text.ts";
import {
  type Answer,
  complete,
  jsonAnswer,
  readFixture,
  scriptTransport,
  streamOf,
} from "./support.ts";

const never = new AbortController().signal;
const url = "http://engine:8000";

/** A server that answers these paths, and returns 404 for all others. */
function serverWith(paths: Readonly<Record<string, Answer>>) {
  return scriptTransport((request) => {
    return paths[new URL(request.url).pathname] ?? jsonAnswer({ error: "no such path" }, 404);
  });
}

/** The server's own message. */
function recorded(name: string): Answer {
  return jsonAnswer(new TextDecoder().decode(readFixture(name)));
}

const find = (transport: ReturnType<typeof serverWith>, at = url) =>
  findServer({ url: at, model: "openai/gpt-oss-20b", transport }, never);

describe("the kind of a server is detected by its responses", () => {
  test.each(["vllm", "sglang", "llama-cpp", "trtllm"])(
    "%s, by its list of models",
    async (kind) => {
      const found = await find(serverWith({ "/v1/models": recorded(`${kind}/models.json`) }));
      expect(found.kind).toBe(kind);
      expect(found.models).not.toEqual([]);
    },
  );

  const list = jsonAnswer({ data: [{ id: "m", owned_by: "someone" }] });
  test.each([
    ["ollama", { "/api/tags": recorded("ollama/tags.json") }, ["gpt-oss:20b", "other:latest"]],
    ["llama-cpp", { "/props": recorded("llama-cpp/props.json") }, ["m"]],
    ["sglang", { "/get_model_info": jsonAnswer({ model_path: "m" }) }, ["m"]],
    ["vllm", { "/version": jsonAnswer({ version: "0.14.1" }) }, ["m"]],
    ["completions", {}, ["m"]],
  ])("%s, by its own paths when the list does not say", async (kind, paths, models) => {
    const server = serverWith({ "/v1/models": list, ...paths });
    expect(await find(server)).toEqual({ kind, models });
  });

  test("Ollama's own path counts more than a version, which any server may tell", async () => {
    const server = serverWith({
      "/api/tags": recorded("ollama/tags.json"),
      "/version": jsonAnswer({ version: "0.12.0" }),
    });
    expect((await find(server)).kind).toBe("ollama");
  });

  test("a base with a path, as the OpenAI SDK takes it, is a generic server", async () => {
    const server = serverWith({ "/api/models": list });
    expect(await find(server, "http://engine:8000/api")).toEqual({
      kind: "completions",
      models: ["m"],
    });
  });

  test("Fireworks is recognized by its host name, without a request", async () => {
    const server = serverWith({});
    const found = await find(server, "https://api.fireworks.ai/inference");
    expect([found.kind, server.requests.length]).toEqual(["fireworks", 0]);
  });

  test("for anything else one sentence says what to configure", async () => {
    await expect(find(serverWith({ "/": jsonAnswer("<html>") }))).rejects.toMatchObject({
      kind: "not-found",
      message: `The server at http://engine:8000 is not an inference server that the gateway recognizes. Check the URL, or name its kind with --engine: ${SERVER_KINDS.join(", ")}.`,
    });
  });
});

/** The answer to any prompt: it repeats nothing of it. */
const ONE_TOKEN = streamOf(
  'data: {"choices":[{"index":0,"text":"","token_ids":[200002],"finish_reason":"stop"}]}\n\n',
  "data: [DONE]\n\n",
);

describe("the engine auto", () => {
  test("becomes the engine of the kind it finds", async () => {
    const transport = serverWith({
      "/v1/models": recorded("vllm/models.json"),
      "/version": jsonAnswer({ version: "0.14.1" }),
      "/v1/completions": ONE_TOKEN,
    });
    const engine = createEngine("auto", { url, model: "openai/gpt-oss-20b", transport });
    expect(engine.name).toBe("auto");
    const probe = await engine.probe(never);
    expect([engine.name, probe.description]).toEqual(["vllm", "vllm 0.14.1"]);
    expect(engine.capabilities.idsOut).toBe("exact");
    expect(await complete(engine)).toMatchObject({ finish: { reason: "stop" } });
  });

  test("tries again if no server answered at first", async () => {
    let isUp = false;
    const list = recorded("vllm/models.json");
    const answer = ONE_TOKEN;
    const transport = scriptTransport(({ url: asked }) => {
      if (!isUp) return new EngineError("unreachable", "Cannot reach it.");
      if (asked.endsWith("/models")) return list;
      return asked.endsWith("/completions") ? answer : jsonAnswer({}, 404);
    });
    const engine = createEngine("auto", { url, model: "openai/gpt-oss-20b", transport });
    await expect(engine.probe(never)).rejects.toMatchObject({ kind: "unreachable" });
    isUp = true;
    await engine.probe(never);
    expect(engine.name).toBe("vllm");
  });

  test("a request before the kind is known fails as retryable", async () => {
    const transport = serverWith({ "/v1/models": recorded("vllm/models.json") });
    const engine = createEngine("auto", { url, model: "openai/gpt-oss-20b", transport });
    expect(await complete(engine)).toMatchObject({
      error: {
        kind: "loading",
        message: "The kind of inference server has only just been found out.",
      },
    });
  });

  test("a caller that aborts does not end the detection for others", async () => {
    const transport = serverWith({
      "/v1/models": recorded("vllm/models.json"),
      "/v1/completions": ONE_TOKEN,
    });
    const engine = createEngine("auto", { url, model: "openai/gpt-oss-20b", transport });
    const leaving = new AbortController();
    const first = engine.probe(leaving.signal);
    const second = engine.probe(never);
    leaving.abort(new Error("left"));
    await expect(first).rejects.toThrow("left");
    await second;
    expect(engine.name).toBe("vllm");
  });

  test("a search that a cancelled request has left behind on Workers is given up after fifteen seconds", async () => {
    // Nothing of a cancelled request goes on, its timers included.
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const well = serverWith({
      "/v1/models": recorded("vllm/models.json"),
      "/v1/completions": ONE_TOKEN,
    });
    const state = { isCancelled: true };
    const transport: Transport = (request) =>
      state.isCancelled ? new Promise(() => {}) : well(request);
    const engine = createEngine("auto", { url, model: "openai/gpt-oss-20b", transport });
    const leaving = new AbortController();
    const first = engine.probe(leaving.signal);
    leaving.abort(new Error("left"));
    await expect(first).rejects.toThrow("left");
    state.isCancelled = false;
    vi.advanceTimersByTime(15_001);
    await engine.probe(never);
    expect(engine.name).toBe("vllm");
  });

  test.each([
    [
      "Ollama without a gpt-oss",
      { "/api/tags": jsonAnswer({ models: [{ name: "llama3:latest" }, { name: "qwen" }] }) },
      'ollama at http://engine:8000 offers no model named gpt-oss, but "llama3:latest", "qwen". Download one: ollama pull gpt-oss:20b.',
    ],
    [
      "Ollama without a model",
      { "/api/tags": jsonAnswer({ models: [] }) },
      "ollama at http://engine:8000 offers no model. Download one: ollama pull gpt-oss:20b.",
    ],
    [
      "another server without a model",
      { "/version": jsonAnswer({ version: "1" }), "/v1/models": jsonAnswer({ data: [] }) },
      "vllm at http://engine:8000 offers no model.",
    ],
  ])("where no model is named, of %s it says what to do", async (_, paths, message) => {
    const engine = createEngine("auto", {
      url,
      model: "openai/gpt-oss-20b",
      findsModel: true,
      transport: serverWith(paths),
    });
    await expect(engine.probe(never)).rejects.toMatchObject({ kind: "not-found", message });
  });

  test("where no model is named, takes the one that the server offers", async () => {
    const transport = serverWith({
      "/v1/models": jsonAnswer({ data: [{ id: "my-tune", owned_by: "vllm" }] }),
      "/v1/completions": ONE_TOKEN,
    });
    const options = { url, model: "openai/gpt-oss-20b", findsModel: true, transport };
    await createEngine("auto", options).probe(never);
    expect(JSON.parse(requestText(transport.requests.at(-1)?.body))).toMatchObject({
      model: "my-tune",
    });
  });

  test("needs a URL", () => {
    expect(() => createEngine("auto", { model: "m" })).toThrow("needs the URL of its server");
  });
});

test.each([
  ["the name the server has", "my-model", ["my-model", "gpt-oss:20b"], "my-model"],
  ["OpenAI's name, which the server has", "openai/gpt-oss-20b", ["openai/gpt-oss-20b"], undefined],
  [
    "OpenAI's name, for the only gpt-oss of that size",
    "openai/gpt-oss-20b",
    ["gpt-oss:20b", "gpt-oss:120b"],
    "gpt-oss:20b",
  ],
  [
    "OpenAI's name, where two could be meant",
    "openai/gpt-oss-20b",
    ["gpt-oss:20b", "gpt-oss-20b-mine"],
    undefined,
  ],
  ["OpenAI's name, where there is no gpt-oss", "openai/gpt-oss-20b", ["llama3"], undefined],
  ["another name, which is taken at its word", "mine", ["gpt-oss:20b"], undefined],
])("of %s", (_, wanted, models, chosen = wanted) => {
  expect(chooseModel(wanted, { kind: "ollama", models })).toBe(chosen);
});
