/** Valid bodies for every route, from which mutations start. */
import { ODD_SCHEMAS, type JsonValue } from "./json-mutation.ts";

/** Ids that exist in the store when an input is sent. */
export interface KnownIds {
  readonly response: string;
  readonly background: string;
  readonly conversation: string;
  readonly item: string;
}

export interface RouteTemplate {
  readonly method: string;
  readonly path: string;
  readonly body?: JsonValue;
}

const MODEL = "openai/gpt-oss-20b";

const WEATHER_SCHEMA = {
  type: "object",
  properties: {
    city: { type: "string", minLength: 1 },
    days: { type: "integer", minimum: 1, maximum: 7 },
    unit: { type: "string", enum: ["celsius", "fahrenheit"] },
  },
  required: ["city"],
  additionalProperties: false,
};

const ANSWER_SCHEMA = {
  type: "object",
  properties: {
    date: { type: "string", pattern: "^\\d{4}-\\d{2}-\\d{2}$" },
    tags: { type: "array", items: { $ref: "#/$defs/tag" }, maxItems: 3 },
  },
  required: ["date", "tags"],
  additionalProperties: false,
  $defs: { tag: { anyOf: [{ type: "string" }, { type: "null" }] } },
};

const CHAT_TOOL = {
  type: "function",
  function: {
    name: "get_weather",
    description: "The weather in a city",
    parameters: WEATHER_SCHEMA,
    strict: true,
  },
};

const RESPONSES_TOOL = {
  type: "function",
  name: "get_weather",
  description: "The weather in a city",
  parameters: WEATHER_SCHEMA,
  strict: false,
};

const CHATS: readonly JsonValue[] = [
  { model: MODEL, messages: [{ role: "user", content: "Hello" }] },
  {
    model: "gpt-oss-20b",
    stream: true,
    stream_options: { include_usage: true },
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: [{ type: "text", text: "What is 2 + 2?" }] },
    ],
    temperature: 0.5,
    top_p: 0.9,
    seed: 7,
    max_tokens: 60,
    stop: ["\n\n", "END"],
    logprobs: true,
    top_logprobs: 2,
  },
  {
    model: MODEL,
    messages: [
      { role: "developer", content: "Use tools." },
      { role: "user", content: "Use get_weather for Berlin" },
      {
        role: "assistant",
        content: null,
        reasoning: "I need the weather.",
        tool_calls: [
          {
            id: "call_1",
            type: "function",
            function: { name: "get_weather", arguments: '{"city":"Berlin"}' },
          },
        ],
      },
      { role: "tool", tool_call_id: "call_1", content: '{"temperature":12}' },
    ],
    tools: [CHAT_TOOL],
    tool_choice: "auto",
    parallel_tool_calls: true,
  },
  {
    model: MODEL,
    stream: true,
    messages: [{ role: "user", content: "Weather in Rome?" }],
    tools: [CHAT_TOOL],
    tool_choice: { type: "function", function: { name: "get_weather" } },
    reasoning: { effort: "low", max_tokens: 40, exclude: false },
    n: 2,
  },
  {
    model: MODEL,
    messages: [{ role: "user", content: "A date and tags" }],
    response_format: {
      type: "json_schema",
      json_schema: { name: "answer", strict: true, schema: ANSWER_SCHEMA },
    },
    reasoning_effort: "none",
    logit_bias: { "100": -5 },
  },
  {
    model: MODEL,
    messages: [
      { role: "user", content: "Continue" },
      {
        role: "assistant",
        content: '{"a":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!',
        reasoning_details: [{ type: "reasoning.text", text: "hm", index: 0 }],
      },
    ],
    response_format: { type: "json_object" },
    max_completion_tokens: 30,
    session_id: "s",
    prompt_cache_key: "p",
    models: [MODEL],
  },
  {
    messages: [
      { role: "function", name: "f", content: "1" },
      { role: "user", content: "f" },
    ],
    functions: [{ name: "f", description: "", parameters: {} }],
    function_call: "auto",
    frequency_penalty: 1,
    presence_penalty: -1,
    repetition_penalty: 1.1,
    top_k: 5,
    min_p: 0.1,
  },
];

function responseBodies({ response, conversation, item }: KnownIds): readonly JsonValue[] {
  return [
    { model: MODEL, input: "Hello" },
    {
      model: MODEL,
      stream: true,
      input: [
        {
          type: "message",
          role: "user",
          content: [{ type: "input_text", text: "Use get_weather for Oslo" }],
        },
        {
          type: "reasoning",
          id: "rs_1",
          summary: [],
          content: [{ type: "reasoning_text", text: "hm" }],
        },
        {
          type: "function_call",
          call_id: "call_1",
          name: "get_weather",
          arguments: '{"city":"Oslo"}',
        },
        { type: "function_call_output", call_id: "call_1", output: "cold" },
      ],
      instructions: "Be brief.",
      tools: [RESPONSES_TOOL, { type: "web_search" }],
      tool_choice: {
        type: "allowed_tools",
        mode: "auto",
        tools: [{ type: "function", name: "get_weather" }],
      },
      include: ["reasoning.encrypted_content"],
      truncation: "auto",
    },
    {
      model: MODEL,
      input: "A date and tags",
      text: {
        format: { type: "json_schema", name: "answer", schema: ANSWER_SCHEMA, strict: true },
        verbosity: "low",
      },
      reasoning: { effort: "low", summary: "auto" },
      max_output_tokens: 100,
      metadata: { a: "b" },
      store: false,
    },
    { model: MODEL, input: "and then?", previous_response_id: response },
    {
      model: MODEL,
      input: [{ type: "item_reference", id: item }],
      conversation: { id: conversation },
    },
    {
      model: MODEL,
      input: [
        { role: "user", content: "hi" },
        { type: "compaction", encrypted_content: "AAAA" },
      ],
    },
    { model: MODEL, input: "In the background", background: true, stream: false },
    { model: MODEL, input: "Followed", background: true, stream: true },
  ];
}

const NEW_ITEMS = {
  items: [{ type: "message", role: "user", content: "more" }],
};

/** Every route with a valid body. */
export function createTemplates(ids: KnownIds): readonly RouteTemplate[] {
  const { response, background, conversation, item } = ids;
  const bodies = responseBodies(ids);
  const post = (path: string, body: JsonValue) => ({ method: "POST", path, body });
  const get = (path: string) => ({ method: "GET", path });
  const remove = (path: string) => ({ method: "DELETE", path });
  const schemas = ODD_SCHEMAS.flatMap((schema) => [
    post("/v1/chat/completions", {
      model: MODEL,
      messages: [{ role: "user", content: "An answer" }],
      response_format: { type: "json_schema", json_schema: { name: "odd", strict: true, schema } },
    }),
    post("/v1/responses", {
      model: MODEL,
      input: "Use odd",
      tools: [{ type: "function", name: "odd", parameters: schema, strict: true }],
    }),
  ]);
  return [
    ...CHATS.map((body) => post("/v1/chat/completions", body)),
    ...CHATS.map((body) => post("/api/v1/chat/completions", body)),
    ...bodies.map((body) => post("/v1/responses", body)),
    ...bodies.map((body) => post("/open-responses/v1/responses", body)),
    ...bodies.map((body) => post("/v1/responses/input_tokens", body)),
    ...bodies.slice(0, 6).map((body) => post("/v1/responses/compact", body)),
    ...schemas,
    post("/v1/conversations", { metadata: { topic: "x" }, items: NEW_ITEMS.items }),
    post(`/v1/conversations/${conversation}`, { metadata: { topic: "y" } }),
    post(`/v1/conversations/${conversation}/items`, NEW_ITEMS),
    get(`/v1/conversations/${conversation}`),
    get(`/v1/conversations/${conversation}/items?limit=2&order=asc`),
    get(`/v1/conversations/${conversation}/items/${item}`),
    remove(`/v1/conversations/${conversation}/items/${item}`),
    remove(`/v1/conversations/${conversation}`),
    get(`/v1/responses/${response}`),
    get(`/v1/responses/${background}?stream=true&starting_after=1`),
    get(`/v1/responses/${response}/input_items?after=${item}&limit=1`),
    post(`/v1/responses/${background}/cancel`, {}),
    remove(`/v1/responses/${response}`),
    get("/v1/models"),
    get(`/v1/models/${MODEL}`),
    get("/api/v1/models/gpt-oss-20b"),
    get("/health"),
    get("/ready"),
    get("/metrics"),
  ];
}
