/** S9: an answer that repeats another request is refused. */
import { describe, expect, test } from "vitest";
import { createEngine, type EngineKind } from "../../src/index.ts";
import {
  complete,
  jsonAnswer,
  readFixture,
  requestOf,
  scriptTransport,
  streamOf,
} from "./support.ts";
import { promptOf } from "../helpers/spelled.ts";

const MIXED_UP =
  "sent the answer to another request (a prompt of 5 tokens instead of 3). Is there a proxy that mixes up responses, or changes prompts?";
const OTHERS =
  "sent the answer to another request. Is there a proxy that mixes up responses, or changes prompts?";
const url = "http://engine:8000";

describe.each<[EngineKind, string, string, number]>([
  ["vllm", "vllm/answer.sse", OTHERS, 0],
  ["vllm", "vllm/generate.sse", MIXED_UP, 9],
  ["sglang", "sglang/cumulative.sse", MIXED_UP, 0],
  ["sglang", "sglang/incremental.sse", MIXED_UP, 0],
  ["llama-cpp", "llama-cpp/answer.sse", MIXED_UP, 0],
  ["trtllm", "trtllm/answer.sse", MIXED_UP, 21],
])("%s, %s", (kind, fixture, message, given) => {
  function serve() {
    const transport = scriptTransport(() => ({ pieces: [readFixture(fixture)] }));
    return { transport, engine: createEngine(kind, { url, model: "m", transport }) };
  }

  test("is accepted as the answer to its own prompt, and its connection is kept", async () => {
    const { engine, transport } = serve();
    expect(await complete(engine)).toMatchObject({ finish: { reason: "stop" } });
    expect(transport.closes).toEqual([expect.any(Number)]);
  });

  test("is counted without the ids of the prompt, which a long conversation would have to join", async () => {
    const { engine } = serve();
    const prompt = {
      ...requestOf().prompt,
      get ids(): readonly number[] {
        throw new Error("joined");
      },
    };
    expect((await complete(engine, requestOf({ prompt }))).error).toBeUndefined();
  });

  test("is refused as the answer to another prompt, and its connection is closed", async () => {
    const { engine, transport } = serve();
    const request = requestOf({ prompt: promptOf([200006, 1428, 200008]) });
    const { error, ids = [], pieces = [], finish } = await complete(engine, request);
    expect(error).toEqual({ kind: "server-error", message: `${kind} at ${url} ${message}` });
    expect(finish).toBeUndefined();
    // Where only the usage repeats something, the tokens have come before it.
    expect(ids.length + pieces.length).toBe(given);
    expect(transport.closes).toEqual(["at once"]);
  });
});

test.each([-5, 0, null])("%s tokens in a prompt are no other prompt", async (count) => {
  const transport = scriptTransport(() =>
    streamOf(
      `data: {"choices":[{"index":0,"text":"","finish_reason":"stop","token_ids":[200005]}]}\n\n`,
      `data: {"choices":[],"usage":{"prompt_tokens":${count},"completion_tokens":1e18}}\n\ndata: [DONE]\n\n`,
    ),
  );
  const engine = createEngine("vllm", { url, model: "m", transport });
  expect(await complete(engine)).toMatchObject({ finish: { reason: "stop" } });
});

describe("vLLM repeats the ids of a prompt", () => {
  const frame = (ids: string) =>
    `data: {"choices":[{"index":0,"text":"","finish_reason":null,"prompt_token_ids":${ids},"token_ids":[200005]}]}\n\n`;
  const end = `data: {"choices":[{"index":0,"text":"","finish_reason":"stop","token_ids":[]}]}\n\ndata: [DONE]\n\n`;

  test.each([
    ["as they were sent", "[200006,1428,200008,12194,200007]", undefined],
    ["with blanks", "[200006, 1428, 200008, 12194, 200007]", undefined],
    ["not at all", "null", undefined],
    ["with another one", "[200006,1428,200008,12195,200007]", "server-error"],
    ["with one less", "[200006,1428,200008,12194]", "server-error"],
    ["with one more", "[200006,1428,200008,12194,200007,1]", "server-error"],
    ["with a longer last one", "[200006,1428,200008,12194,2000071]", "server-error"],
    ["with none", "[]", "server-error"],
  ])("%s", async (_, ids, kind) => {
    const transport = scriptTransport(() => streamOf(frame(ids), end));
    const engine = createEngine("vllm", { url, model: "m", transport });
    expect((await complete(engine)).error?.kind).toBe(kind);
  });

  test("in parts, as a conversation is cached", async () => {
    const { ids } = requestOf().prompt;
    const parts = [ids.slice(0, 2), ids.slice(2, 3), ids.slice(3)].flatMap((part) =>
      promptOf(part).idsJson(),
    );
    const prompt = { ...promptOf(ids), idsJson: () => parts };
    const transport = scriptTransport(() => streamOf(frame(JSON.stringify(ids)), end));
    const engine = createEngine("vllm", { url, model: "m", transport });
    expect((await complete(engine, requestOf({ prompt }))).error).toBeUndefined();
  });
});

describe("the name of a call", () => {
  const own = "px-1-hg1";
  const sglang = (name: string) =>
    `data: {"text":"","output_ids":[200002],"meta_info":{"id":"${name}","finish_reason":{"type":"stop"},"prompt_tokens":5}}\n\ndata: [DONE]\n\n`;
  const vllm = (name: string) =>
    `data: {"id":"cmpl-${name}","choices":[{"index":0,"text":"","finish_reason":"stop","token_ids":[200002]}]}\n\ndata: [DONE]\n\n`;

  test.each<[EngineKind, (name: string) => string, string, string | undefined]>([
    ["sglang", sglang, own, undefined],
    ["sglang", sglang, "px-2-hg1", "server-error"],
    ["sglang", sglang, "f81d4fae7dec11d0", undefined],
    ["vllm", vllm, own, undefined],
    ["vllm", vllm, "other-hg12", "server-error"],
    ["vllm", vllm, "f81d4fae-7dec-11d0-1", undefined],
  ])("%s says %o", async (kind, write, name, expected) => {
    const transport = scriptTransport(() => streamOf(write(name)));
    const engine = createEngine(kind, { url, model: "m", transport });
    expect((await complete(engine)).error?.kind).toBe(expected);
  });

  test("of vLLM's token endpoint", async () => {
    const write = (name: string) =>
      `data: {"request_id":"generate-tokens-${name}","choices":[{"index":0,"finish_reason":"stop","token_ids":[200002]}]}\n\ndata: [DONE]\n\n`;
    const transport = scriptTransport(({ url: asked, body }) => {
      if (asked.endsWith("/v1/models")) return jsonAnswer({ data: [{ id: "m" }] });
      if (!asked.endsWith("generate")) return jsonAnswer({ version: "1" });
      return typeof body === "string" ? jsonAnswer({}, 400) : streamOf(write("other-hg2"));
    });
    const engine = createEngine("vllm", { url, model: "m", transport, tokenEndpoint: true });
    await expect(engine.probe(new AbortController().signal)).rejects.toThrow(OTHERS);
  });
});
