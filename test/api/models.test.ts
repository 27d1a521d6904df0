import { ModelResponse$inboundSchema } from "@openrouter/sdk/models/modelresponse.js";
import { ModelsCountResponse$inboundSchema } from "@openrouter/sdk/models/modelscountresponse.js";
import { ModelsListResponse$inboundSchema } from "@openrouter/sdk/models/modelslistresponse.js";
import { ListEndpointsResponse$inboundSchema as EndpointsResponse$inboundSchema } from "@openrouter/sdk/models/operations/listendpoints.js";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { Engine } from "../../src/index.ts";
import { appOf } from "../helpers/app.ts";
import { eventually } from "../helpers/eventually.ts";
import { fakeEngine } from "../helpers/fake-engine.ts";
import { fakeTool } from "../helpers/fake-tool.ts";
import { lazyGateway, testSettings } from "../helpers/gateway.ts";

const models = [
  { id: "openai/gpt-oss-20b", aliases: ["small"], engine: fakeEngine(), contextLength: 131_072 },
  { id: "gpt-oss-120b", engine: fakeEngine() },
];

async function get(
  path: string,
  served: Parameters<typeof appOf>[1] = models,
  deps: Parameters<typeof appOf>[2] = {},
): Promise<{ status: number; body: unknown }> {
  const response = await appOf(testSettings(), served, deps).request(`/v1${path}`);
  return { status: response.status, body: await response.json() };
}

const entry = {
  id: "openai/gpt-oss-20b",
  object: "model",
  created: 1_754_352_000,
  owned_by: "openai",
  canonical_slug: "openai/gpt-oss-20b",
  name: "OpenAI: gpt-oss-20b",
  description: expect.any(String),
  context_length: 131_072,
  max_model_len: 131_072,
  max_context_length: 131_072,
  context_window: 131_072,
  max_output_tokens: 131_072,
  state: "unknown",
  hugging_face_id: "openai/gpt-oss-20b",
  architecture: {
    modality: "text->text",
    input_modalities: ["text"],
    output_modalities: ["text"],
    tokenizer: "GPT",
    instruct_type: null,
  },
  pricing: { prompt: "0", completion: "0", request: "0", image: "0" },
  top_provider: { context_length: 131_072, max_completion_tokens: 131_072, is_moderated: false },
  links: { details: expect.stringMatching(/^\/api\/v1\/models\/.*\/endpoints$/) },
  per_request_limits: null,
  default_parameters: { temperature: 1, top_p: 1 },
  supported_voices: null,
  supported_parameters: expect.arrayContaining(["reasoning", "tools"]),
  reasoning: {
    supported_efforts: ["high", "medium", "low"],
    default_effort: "medium",
    default_enabled: true,
    supports_max_tokens: true,
    mandatory: false,
  },
};

describe("the list", () => {
  test.each(["/models", "/models/user"])("%s has all models", async (path) => {
    expect(await get(path)).toEqual({
      status: 200,
      body: {
        object: "list",
        gateway_tools: { builtin: [], mcp_servers: [] },
        data: [entry, expect.objectContaining({ id: "gpt-oss-120b", context_length: 131_072 })],
        total_count: 2,
        links: { next: null },
      },
    });
  });

  test("Codex's catalogue is in the answer to Codex alone", async () => {
    const asked = await get("/models?client_version=0.169.0");
    expect(asked.body).toMatchObject({
      models: [
        { slug: "openai/gpt-oss-20b", context_window: 131_072 },
        { slug: "gpt-oss-120b", priority: 2 },
      ],
    });
    expect(JSON.stringify((await get("/models")).body)).not.toContain("coding agent");
  });

  const untilAborted: Engine["probe"] = (signal) =>
    new Promise((_, reject) => {
      signal.addEventListener("abort", reject);
    });

  test("each model has the state of its engine: that it answers, that it does not, or that it has not answered yet", async () => {
    const gateway = lazyGateway({
      models: [
        { id: "up", engine: fakeEngine() },
        { id: "never-reached", engine: fakeEngine(() => Promise.reject(new Error("refused"))) },
        { id: "silent", engine: fakeEngine(untilAborted) },
      ],
    });
    const list = z.object({ data: z.array(z.object({ id: z.string(), state: z.string() })) });
    await eventually(async () => {
      const response = await gateway.fetch("/v1/models");
      expect(list.parse(await response.json()).data).toEqual([
        { id: "up", state: "ready" },
        { id: "never-reached", state: "unavailable" },
        { id: "silent", state: "unknown" },
      ]);
    });
  });

  test.each([
    ["?limit=1", ["openai/gpt-oss-20b"], "?offset=1&limit=1"],
    ["?offset=1&limit=1", ["gpt-oss-120b"], null],
    ["?offset=1", ["gpt-oss-120b"], null],
    ["?offset=5", [], null],
    ["?limit=0", [], null],
  ])("%s is a page", async (query, ids, next) => {
    const { body } = await get(`/models${query}`);
    expect(body).toMatchObject({
      data: ids.map((id) => ({ id })),
      total_count: 2,
      links: { next },
    });
  });

  test("a page that is not a number is refused", async () => {
    expect(await get("/models?offset=-1")).toMatchObject({
      status: 400,
      body: { error: { param: "offset" } },
    });
  });
});

describe("one model", () => {
  test.each([
    ["/models/openai/gpt-oss-20b", "openai/gpt-oss-20b"],
    ["/models/openai%2Fgpt-oss-20b", "openai/gpt-oss-20b"],
    ["/models/gpt-oss-20b", "gpt-oss-20b"],
    ["/models/openai/gpt-oss-20b:free", "openai/gpt-oss-20b:free"],
    ["/models/small", "small"],
  ])("%s is answered under the name it was asked for", async (path, id) => {
    expect(await get(path)).toEqual({ status: 200, body: { ...entry, id } });
  });

  test.each([
    ["high", "high", true],
    ["none", "none", false],
  ])("under a name with :%s has this effort by default", async (suffix, effort, isEnabled) => {
    expect(await get(`/models/openai/gpt-oss-20b:${suffix}`)).toMatchObject({
      status: 200,
      body: { reasoning: { default_effort: effort, default_enabled: isEnabled } },
    });
  });

  test("is the data of a reply where OpenRouter's clients ask for it", async () => {
    expect(await get("/model/small")).toEqual({
      status: 200,
      body: { data: { ...entry, id: "small" } },
    });
  });

  test("has one provider", async () => {
    const { id, name, created, description, architecture } = entry;
    const endpoint = {
      name: "harmony-gateway | openai/gpt-oss-20b",
      model_id: "openai/gpt-oss-20b",
      model_name: "OpenAI: gpt-oss-20b",
      context_length: 131_072,
      pricing: entry.pricing,
      provider_name: "harmony-gateway",
      tag: "harmony-gateway",
      quantization: null,
      max_completion_tokens: 131_072,
      max_prompt_tokens: null,
      supported_parameters: entry.supported_parameters,
      supports_implicit_caching: false,
      native_tools: {},
      service_tier: null,
      supports_diarization: false,
      supports_voice_cloning: false,
      supports_tool_choice: { auto: true, function: true, none: true, required: true },
      status: 0,
      latency_last_30m: null,
      throughput_last_30m: null,
      uptime_last_5m: null,
      uptime_last_30m: null,
      uptime_last_1d: null,
    };
    expect(await get("/models/openai/gpt-oss-20b/endpoints")).toEqual({
      status: 200,
      body: { data: { id, name, created, description, architecture, endpoints: [endpoint] } },
    });
  });

  test.each(["/models/openai/gpt-4", "/models/openai/gpt-oss-20b:foo", "/models/gpt-4/endpoints"])(
    "%s is unknown",
    async (path) => {
      expect(await get(path)).toMatchObject({
        status: 404,
        body: { error: { code: "model_not_found", type: "not_found_error", param: "model" } },
      });
    },
  );
});

test("only parameters the engine honours are listed", async () => {
  const entries = z.object({ data: z.array(z.object({ supported_parameters: z.unknown() })) });
  const supported = async (capabilities: Partial<Engine["capabilities"]>) => {
    const engine = fakeEngine();
    const honouring = { ...engine, capabilities: { ...engine.capabilities, ...capabilities } };
    const { body } = await get("/models", [{ id: "m", engine: honouring }]);
    return entries.parse(body).data[0]?.supported_parameters;
  };
  const always = [
    "include_reasoning",
    "max_completion_tokens",
    "max_tokens",
    "parallel_tool_calls",
    "reasoning",
    "reasoning_effort",
    "response_format",
    "stop",
    "structured_outputs",
    "tool_choice",
    "tools",
  ];
  expect(await supported({ sampling: [] })).toEqual(always);
  expect(await supported({ logprobs: true, sampling: ["topP", "seed", "logitBias"] })).toEqual(
    [...always, "logit_bias", "logprobs", "seed", "top_logprobs", "top_p"].toSorted(),
  );
});

test.each<[string, z.ZodType]>([
  ["/models", ModelsListResponse$inboundSchema],
  ["/models/count", ModelsCountResponse$inboundSchema],
  ["/model/openai/gpt-oss-20b", ModelResponse$inboundSchema],
  ["/models/openai/gpt-oss-20b/endpoints", EndpointsResponse$inboundSchema],
  ["/models/gpt-oss-120b/endpoints", EndpointsResponse$inboundSchema],
])("OpenRouter's client accepts %s", async (path, schema) => {
  const { body } = await get(path);
  expect(schema.safeParse(body).error).toBeUndefined();
});

test("below OpenRouter's base URL there is no second list, which a client could take for LM Studio's", async () => {
  const app = appOf(testSettings(), models, {});
  const membersOf = async (path: string) =>
    Object.keys(z.looseObject({}).parse(await (await app.request(path)).json()));
  const query = "?client_version=0.169.0";
  expect(await membersOf(`/api/v1/models${query}`)).toEqual([
    "object",
    "data",
    "total_count",
    "links",
  ]);
  expect(await membersOf(`/v1/models${query}`)).toContain("models");
});

test("models are counted", async () => {
  expect(await get("/models/count")).toEqual({ status: 200, body: { data: { count: 2 } } });
});

test("the list says what the gateway runs and reads, for pages", async () => {
  const unused = () => Promise.reject(new Error("not used"));
  const server = { label: "wiki", listTools: unused, callTool: unused, close: unused };
  const servers = new Map([["wiki", { server, policy: {} }]]);
  const toolbox = { browser: () => fakeTool(), python: undefined, mcp: { servers } };
  const readPdf = () => unused();
  expect(await get("/models", models, { toolbox, readPdf })).toMatchObject({
    body: {
      gateway_tools: { builtin: ["browser"], mcp_servers: ["wiki"] },
      data: [
        { architecture: { modality: "text+file->text", input_modalities: ["text", "file"] } },
        {},
      ],
    },
  });
  expect(await get("/models")).toMatchObject({
    body: { gateway_tools: { builtin: [], mcp_servers: [] } },
  });
});
