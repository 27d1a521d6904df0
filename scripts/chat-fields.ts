/**
 * How each field a client of this API may send is handled: OpenAI's, OpenRouter's, and others that clients are known to
 * send. `docs/fields.md` is generated from this list, and a test sends every field to check it.
 */

export interface Field {
  /** An example value, as a client would send it. */
  readonly name: string;
  readonly treatment: Treatment;
  readonly note?: string;
}

export const TREATMENTS = {
  honoured: "It has its documented effect.",
  converted: "It is converted to another field, which the note names.",
  engine:
    "It is sent to the engine. If the engine supports it, `/v1/models` lists it under `supported_parameters`.",
  ignored: "It is accepted and has no effect.",
  refused: "The request is answered with status 400, and `param` names the field.",
} as const;

export type Treatment = keyof typeof TREATMENTS;

export const FIELD_GROUPS: readonly {
  readonly title: string;
  readonly fields: readonly Field[];
}[] = [
  {
    title: "Model and transport",
    fields: [
      {
        name: "model",
        treatment: "honoured",
        note: "A model or preset, with or without `openai/`. Behind it `:low`, `:medium`, `:high` or `:none` for the effort, and OpenRouter's suffixes such as `:free`. Unknown: 400, unless `models` has a served one. Absent: the first model served.",
      },
      {
        name: "models",
        treatment: "converted",
        note: "If `model` is absent or not served: the first of these that is, which the reply names. There is no fallback to the others if it fails.",
      },
      {
        name: "preset",
        treatment: "honoured",
        note: "The name of a preset of the operator, as `@preset/name` in `model` is. Unknown: 400.",
      },
      { name: "stream", treatment: "honoured" },
      {
        name: "return_progress",
        treatment: "honoured",
        note: "As with llama-server, a stream then has chunks without choices whose `prompt_progress` says how much of the prompt has been processed, if the engine reports it.",
      },
      {
        name: "stream_options.include_usage",
        treatment: "honoured",
        note: "Usage is always sent: with `true` in a chunk without choices, as OpenAI does, otherwise in one with an empty choice.",
      },
      { name: "stream_options.include_obfuscation", treatment: "ignored" },
      { name: "usage", treatment: "ignored", note: "Usage is always sent." },
      { name: "n", treatment: "honoured", note: "1 to 128, sampled concurrently." },
      {
        name: "session_id",
        treatment: "honoured",
        note: "Requests with the same value go to the same backend. The `x-session-id` header has the same effect; the field takes precedence.",
      },
      {
        name: "prompt_cache_key",
        treatment: "honoured",
        note: "Like `session_id`. Takes precedence over it.",
      },
      { name: "prompt", treatment: "refused", note: "Text completion is not supported." },
    ],
  },
  {
    title: "Messages",
    fields: [
      { name: "messages", treatment: "honoured", note: "Missing or empty: 400." },
      {
        name: "messages[] role system, developer",
        treatment: "honoured",
        note: "Instructions. Those before any other message are joined by a blank line; later ones keep their position.",
      },
      { name: "messages[] role user", treatment: "honoured" },
      {
        name: "messages[] role assistant",
        treatment: "honoured",
        note: "If it is the last message, the answer continues it. `<think>…</think>` at its beginning is reasoning.",
      },
      {
        name: "messages[] role tool",
        treatment: "honoured",
        note: "`tool_call_id` must match an earlier call, unless the message has a `name`. Results of one tool are put into the order of its calls; a call without a result beside answered ones gets a notice.",
      },
      {
        name: "messages[] role function",
        treatment: "converted",
        note: "To a tool result.",
      },
      {
        name: "messages[].content parts text, refusal",
        treatment: "honoured",
        note: "Joined without a separator.",
      },
      {
        name: "messages[].content parts of other types",
        treatment: "refused",
        note: "The model reads text only. With `visionUrl`, images are described (docs/tools.md). With `mediaInput: placeholder`, and in results of tools by default, a note stands for them.",
      },
      {
        name: "messages[].name",
        treatment: "honoured",
        note: "On user messages, it is added to the role: `user:alice`; characters not allowed there become `_`. On tool results, it can stand for `tool_call_id`. On others, ignored.",
      },
      {
        name: "messages[].cache_control",
        treatment: "ignored",
        note: "Also on content parts and tools.",
      },
      {
        name: "messages[].tool_calls",
        treatment: "honoured",
        note: "`arguments` are passed to the model unchanged, valid JSON or not.",
      },
      { name: "messages[].function_call", treatment: "converted", note: "To a tool call." },
      {
        name: "messages[].refusal",
        treatment: "converted",
        note: "To the message's content, if it has none.",
      },
      {
        name: "messages[].reasoning_details",
        treatment: "honoured",
        note: "The model's reasoning, passed back to it during a tool loop: see `reasoning.md`. Entries with text or encrypted reasoning, or a string. The first that is not empty of this field and the next four counts. `format`, `id` and `signature` are ignored.",
      },
      { name: "messages[].reasoning", treatment: "honoured" },
      { name: "messages[].reasoning_content", treatment: "honoured" },
      { name: "messages[].reasoning_text", treatment: "honoured" },
      { name: "messages[].thinking", treatment: "honoured" },
      { name: "messages[].annotations", treatment: "ignored" },
      { name: "messages[].audio", treatment: "ignored" },
      { name: "messages[].images", treatment: "ignored" },
    ],
  },
  {
    title: "Reasoning",
    fields: [
      {
        name: "reasoning.effort",
        treatment: "honoured",
        note: "The model has low, medium and high: `minimal` becomes low, `xhigh`, `max` and unknown levels become high. `none` opens the answer without reasoning. The response header `x-harmony-reasoning-effort` reports the level used.",
      },
      {
        name: "reasoning.max_tokens",
        treatment: "honoured",
        note: "Reasoning is cut at this length and the answer is opened. Up to 1024 the effort is low, up to 8192 medium, above high; 0 is `none`. Together with an effort: 400.",
      },
      {
        name: "reasoning.enabled",
        treatment: "honoured",
        note: "`false` is equivalent to effort `none`, `true` alone to `medium`.",
      },
      {
        name: "reasoning.exclude",
        treatment: "honoured",
        note: "The model reasons, but the reply does not contain it.",
      },
      {
        name: "reasoning.summary",
        treatment: "ignored",
        note: "Unless the operator has enabled `reasoningSummaries`: then `auto`, `concise` and `detailed` are honoured.",
      },
      { name: "reasoning.context", treatment: "ignored" },
      { name: "reasoning.mode", treatment: "ignored" },
      {
        name: "reasoning_effort",
        treatment: "converted",
        note: "To `reasoning.effort`. If both are set and differ: 400.",
      },
      {
        name: "include_reasoning",
        treatment: "converted",
        note: "`false` is equivalent to `reasoning.exclude`, which takes precedence.",
      },
    ],
  },
  {
    title: "Length and sampling",
    fields: [
      { name: "max_completion_tokens", treatment: "honoured", note: "Reasoning included." },
      {
        name: "max_tokens",
        treatment: "converted",
        note: "To `max_completion_tokens`, which takes precedence.",
      },
      {
        name: "stop",
        treatment: "honoured",
        note: "Up to four strings of up to 1,000 characters, matched in the answer only: it ends before the match. A preamble is not searched, because the call after it would be lost.",
      },
      { name: "temperature", treatment: "engine", note: "0 to 2; absent: 1." },
      { name: "top_p", treatment: "engine", note: "0 to 1; absent: 1." },
      { name: "top_k", treatment: "engine" },
      { name: "min_p", treatment: "engine" },
      { name: "frequency_penalty", treatment: "engine" },
      { name: "presence_penalty", treatment: "engine" },
      { name: "repetition_penalty", treatment: "engine" },
      { name: "seed", treatment: "engine" },
      {
        name: "logit_bias",
        treatment: "engine",
        note: "Ids of `o200k_harmony`. Control tokens: 400.",
      },
      { name: "top_a", treatment: "ignored" },
      {
        name: "logprobs",
        treatment: "honoured",
        note: "Log probabilities of the visible answer. If the engine does not support them: 400.",
      },
      {
        name: "top_logprobs",
        treatment: "honoured",
        note:
          "Up to 20; needs `logprobs`. A plain reply is [limited](security.md): values that cannot fit are refused with 400; " +
          "without a limit of tokens, each of several choices counts as 16,384.",
      },
    ],
  },
  {
    title: "Tools and formats",
    fields: [
      { name: "tools type function", treatment: "honoured" },
      {
        name: "tools type custom",
        treatment: "converted",
        note: "To a function with one string parameter; the reply is converted back.",
      },
      {
        name: "builtin_tools",
        treatment: "honoured",
        note: "`browser` and `python`, which the model was trained with, to be run by the client (docs/tools.md).",
      },
      {
        name: "web_search_options",
        treatment: "honoured",
        note: "Offers web search to the model, where the browser tool is enabled (docs/tools.md). Otherwise it is ignored, and the header `x-harmony-skipped-tools` says so.",
      },
      {
        name: "plugins",
        treatment: "honoured",
        note: "Of `web`, as `web_search_options`. Files are read with or without `file-parser` (docs/tools.md). Others are ignored, and named in the header `x-harmony-skipped-tools`.",
      },
      {
        name: "tools of other types",
        treatment: "ignored",
        note: "Unless the gateway runs them: `openrouter:web_fetch`, `openrouter:datetime`, `openrouter:tool_search` (docs/tools.md). The header `x-harmony-skipped-tools` names the others. A search, `code_interpreter` and `mcp` that the operator has not enabled are a 400.",
      },
      {
        name: "tool_choice",
        treatment: "honoured",
        note: "`auto`, `none`, `required`, a named tool, or `allowed_tools`, whose `mode` defaults to `auto`. A name that is not among the tools: 400.",
      },
      { name: "parallel_tool_calls", treatment: "honoured" },
      {
        name: "max_tool_calls",
        treatment: "honoured",
        note: "Counts only tools that the gateway runs.",
      },
      {
        name: "functions",
        treatment: "converted",
        note: "To `tools`; the reply uses `function_call`.",
      },
      { name: "function_call", treatment: "converted", note: "To `tool_choice`." },
      { name: "response_format json_schema", treatment: "honoured" },
      { name: "response_format json_object", treatment: "honoured" },
      { name: "response_format of other types", treatment: "refused", note: "Except `text`." },
      {
        name: "structured_outputs",
        treatment: "ignored",
        note: "`response_format` is always enforced.",
      },
      { name: "verbosity", treatment: "ignored" },
      { name: "modalities text", treatment: "ignored" },
      {
        name: "modalities of other kinds",
        treatment: "refused",
        note: "The model writes text only.",
      },
      { name: "audio", treatment: "refused" },
    ],
  },
  {
    title: "Features of hosted services",
    fields: [
      "cache_control",
      "chat_template_kwargs",
      "debug",
      "enable_thinking",
      "extra_body",
      "image_config",
      "metadata",
      "moderation",
      "num_ctx",
      "prediction",
      "prompt_cache_options",
      "prompt_cache_retention",
      "provider",
      "route",
      "safety_identifier",
      "service_tier",
      "stop_server_tools_when",
      "store",
      "thinking",
      "trace",
      "transforms",
      "truncation",
      "user",
    ].map((name) => ({ name, treatment: "ignored" as const })),
  },
];

export const FIELDS: readonly Field[] = FIELD_GROUPS.flatMap(({ fields }) => fields);
