/** Context lengths that cannot be one would refuse every prompt, or none. */
import { describe, expect, test } from "vitest";
import { createEngine } from "../../src/index.ts";
import { readContextLength } from "../../src/engines/models-probe.ts";
import { jsonAnswer, scriptTransport, streamOf } from "./support.ts";

describe("is ignored, and named", () => {
  test.each<[unknown, string]>([
    [-5, "-5"],
    [0, "0"],
    [1.5, "1.5"],
    [1e300, "1e+300"],
    [NaN, "NaN"],
    [Infinity, "Infinity"],
    ["x".repeat(1_000_000), "of type string"],
    [[], "of type object"],
  ])("%#", (value, shown) => {
    const warning = `max_model_len is ${shown}, which is no context length: it is ignored.`;
    expect(readContextLength([["max_model_len", value]])).toEqual({ warnings: [warning] });
  });

  test("so that another place may have it", () => {
    expect(
      readContextLength([
        ["a", null],
        ["b", 0],
        ["c", 4096],
        ["d", 8192],
      ]),
    ).toEqual({
      contextLength: 4096,
      warnings: ["b is 0, which is no context length: it is ignored."],
    });
  });
});

test.each(["-5", "0", "1.5", "1e300", "1e400", '"8192"'])(
  "a server with a max_model_len of %s is probed without one",
  async (value) => {
    const engine = engineOf(`{"data":[{"id":"m","max_model_len":${value}}]}`);
    const { contextLength, warnings } = await engine.probe(new AbortController().signal);
    expect(contextLength).toBeUndefined();
    expect(warnings).toHaveLength(1);
  },
);

test("a server with a max_model_len that is Python's NaN is probed without one", async () => {
  const engine = engineOf('{"data":[{"id":"m","max_model_len":NaN}]}');
  expect(await engine.probe(new AbortController().signal)).not.toHaveProperty("contextLength");
});

function engineOf(models: string) {
  const frame = { choices: [{ index: 0, text: "", token_ids: [200002], finish_reason: "stop" }] };
  const transport = scriptTransport(({ url }) => {
    if (url.endsWith("/v1/models")) return jsonAnswer(models);
    return url.endsWith("/v1/completions")
      ? streamOf(`data: ${JSON.stringify(frame)}\n\n`, "data: [DONE]\n\n")
      : jsonAnswer({ version: "1" });
  });
  return createEngine("vllm", { url: "http://engine:8000", model: "m", transport });
}
