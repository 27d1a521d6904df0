import { expect, test } from "vitest";
import { EngineError } from "../../../src/index.ts";
import { findEnginesOnLoopback } from "../../../src/node/cli/serve.ts";
import { jsonAnswer, scriptTransport } from "../../engines/support.ts";

const PORTS = [8000, 11_434, 1234];

/** vLLM with a gpt-oss at port 8000, an LM Studio without one at port 1234, and nothing at the other ports. */
const machine = () =>
  scriptTransport(({ url }) => {
    const { port, pathname } = new URL(url);
    if (port !== "8000" && port !== "1234") return new EngineError("unreachable", "refused");
    if (pathname !== "/v1/models") return jsonAnswer({}, 404);
    const ids = port === "8000" ? ["openai/gpt-oss-20b"] : ["llama", "qwen"];
    return jsonAnswer({
      data: ids.map((id) => ({ id, owned_by: port === "8000" ? "vllm" : "x" })),
    });
  });

test("engines that have a gpt-oss are named with it", async () => {
  expect(await findEnginesOnLoopback(machine(), [], PORTS)).toEqual([
    { kind: "vllm", url: "http://127.0.0.1:8000", models: ["openai/gpt-oss-20b"] },
  ]);
});

test.each(["http://localhost:8000", "http://127.0.0.1:8000/", "http://[::1]:8000"])(
  "the one at the configured %s is not asked again",
  async (url) => {
    const transport = machine();
    expect(await findEnginesOnLoopback(transport, [url], PORTS)).toEqual([]);
    expect(transport.requests.map(({ url: asked }) => new URL(asked).port)).not.toContain("8000");
  },
);

test("each question is a GET that samples nothing", async () => {
  const transport = machine();
  await findEnginesOnLoopback(transport, [], PORTS);
  expect(new Set(transport.requests.map(({ method }) => method))).toEqual(new Set(["GET"]));
});
