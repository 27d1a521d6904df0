/** A server that serves another model: what the operator reads, in the words of each kind of server. */
import { describe, expect, test } from "vitest";
import { examine } from "../../src/doctor/doctor.ts";
import { createEngine } from "../../src/index.ts";
import { STOPPED } from "../helpers/stopped-clock.ts";
import { type Answer, jsonAnswer, scriptTransport, streamOf } from "./support.ts";

const never = new AbortController().signal;
const url = "http://engine:8000";

const QWEN = "Qwen/Qwen3-8B";

function listOf(owner: string, ...models: readonly string[]): Answer {
  return jsonAnswer({ data: models.map((id) => ({ id, owned_by: owner })) });
}

function refusal(message: string): Answer {
  return jsonAnswer({ error: { message, type: "BadRequestError", param: null, code: 400 } }, 400);
}

/** With `--url` alone: kind and model are found out. */
function engineOf(paths: Readonly<Record<string, Answer>>, model = "openai/gpt-oss-20b") {
  const transport = scriptTransport((request) => {
    return paths[new URL(request.url).pathname] ?? jsonAnswer({ error: "no such path" }, 404);
  });
  const findsModel = model === "openai/gpt-oss-20b";
  return createEngine("auto", { url, model, findsModel, transport });
}

function vllmEvent(choice: object): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`;
}

const VLLM_START = "Serve gpt-oss instead: vllm serve openai/gpt-oss-20b";
const OLLAMA_SHOW = jsonAnswer({ model_info: { "general.architecture": "llama" } });
const REFUSED = "without gpt-oss's vocabulary: it refused gpt-oss's token ids (";
const CONTINUES =
  "without gpt-oss's vocabulary: it continues <|start|>assistant without <|channel|>.";

const OTHER_MODELS: readonly (readonly [string, Readonly<Record<string, Answer>>, string])[] = [
  [
    "vLLM, which names the id",
    {
      "/v1/models": listOf("vllm", QWEN),
      "/v1/completions": refusal("Token id 200008 is out of vocabulary"),
    },
    `vllm at ${url} serves "${QWEN}", ${REFUSED}"Token id 200008 is out of vocabulary"). ${VLLM_START}`,
  ],
  [
    "vLLM with a larger vocabulary, which accepts the ids",
    {
      "/v1/models": listOf("vllm", "google/gemma-3-4b-it"),
      "/v1/completions": streamOf(
        vllmEvent({ text: " los", token_ids: [14082], finish_reason: null }),
        vllmEvent({ text: "", token_ids: [], finish_reason: "length" }),
        "data: [DONE]\n\n",
      ),
    },
    `vllm at ${url} serves "google/gemma-3-4b-it", ${CONTINUES} ${VLLM_START}`,
  ],
  [
    "llama-server",
    {
      "/v1/models": listOf("llamacpp", "qwen3-8b.gguf"),
      "/completion": refusal("Prompt contains invalid tokens"),
    },
    `llama-cpp at ${url} serves "qwen3-8b.gguf", ${REFUSED}"Prompt contains invalid tokens"). Serve gpt-oss instead: llama-server -hf ggml-org/gpt-oss-20b-GGUF`,
  ],
  [
    "SGLang, which refuses in its stream",
    {
      "/v1/models": listOf("sglang", QWEN),
      "/generate": streamOf(
        `data: ${JSON.stringify({
          error: {
            message:
              "The input_ids [200006, 1428, 200008] contains values greater than the vocab size (151936).",
          },
        })}\n\n`,
      ),
    },
    `sglang at ${url} serves "${QWEN}", ${REFUSED}"The input_ids [200006, 1428, 200008] contains values greater than the vocab size (151936)"). Serve gpt-oss instead: python -m sglang.launch_server --model-path openai/gpt-oss-20b`,
  ],
  [
    "another server, whose model imitates the prompt",
    {
      "/v1/models": listOf("organization_owner", "qwen3-8b"),
      "/v1/completions": streamOf(
        vllmEvent({ text: "<|message|>Hello", finish_reason: "length" }),
        "data: [DONE]\n\n",
      ),
    },
    `completions at ${url} serves "qwen3-8b", ${CONTINUES} Name a gpt-oss with --model.`,
  ],
];

describe("a server with another model is recognized", () => {
  test.each(OTHER_MODELS)("%s", async (_, paths, message) => {
    await expect(engineOf(paths).probe(never)).rejects.toMatchObject({
      kind: "not-found",
      message,
    });
  });

  test("Ollama, by the model's architecture", async () => {
    const paths = {
      "/api/tags": jsonAnswer({ models: [{ name: "llama3.2:latest" }, { name: "qwen3:8b" }] }),
      "/api/show": OLLAMA_SHOW,
    };
    await expect(engineOf(paths, "llama3.2").probe(never)).rejects.toMatchObject({
      kind: "not-found",
      message: `ollama at ${url} serves "llama3.2:latest", without gpt-oss's vocabulary: its architecture is "llama". Serve gpt-oss instead: ollama pull gpt-oss:20b, then --model gpt-oss:20b`,
    });
  });

  test("the doctor says the same", async () => {
    const [, paths = {}, message = ""] = OTHER_MODELS[0] ?? [];
    const report = await examine(
      {
        engine: engineOf(paths),
        model: "openai/gpt-oss-20b",
        turns: 1,
        streams: [1],
        budgetMs: 600_000,
        patienceMs: 60_000,
        clock: STOPPED,
      },
      never,
    );
    const [reachable, identity, model] = report.checks;
    expect([reachable?.came, identity?.came]).toEqual(["It answered.", "It answers like vllm."]);
    expect(model?.verdict).toBe("broken");
    expect(`${model?.came} ${model?.change}`).toBe(message);
  });
});

test("a fine-tuned gpt-oss may have any name", async () => {
  const engine = engineOf({
    "/v1/models": listOf("vllm", "my-tune"),
    "/v1/completions": streamOf(
      vllmEvent({ text: "<|channel|>", token_ids: [200005], finish_reason: null }),
      vllmEvent({ text: "", token_ids: [], finish_reason: "length" }),
      "data: [DONE]\n\n",
    ),
  });
  const { capabilities } = await engine.probe(never);
  expect(capabilities.idsOut).toBe("exact");
});

test("a probe that is refused for another reason quotes it, bounded and without control characters", async () => {
  const engine = engineOf({
    "/v1/models": listOf("vllm", QWEN),
    "/v1/completions": refusal(`no "\u001b[31m\u202elogit_bias" here${"!".repeat(1000)}`),
  });
  await expect(engine.probe(never)).rejects.toMatchObject({
    kind: "bad-request",
    message: `vllm at ${url} refused the request (400). Its reason: "no ' [31m logit_bias' here${"!".repeat(174)}…".`,
  });
});
