/**
 * Descriptions of each field of a request, for the OpenAPI document and the page `/api`. They are separate from the
 * schemas, which every request loads. A test requires one for each field.
 */

/** The gateway's handling of a field. */
export type Handling = "enforced" | "ignored" | "refused";

export interface Meaning {
  readonly text: string;
  readonly handling: Handling;
}

type Meanings = Readonly<Record<string, string | Meaning>>;

const ignored = (text: string): Meaning => ({ text, handling: "ignored" });
const refused = (text: string): Meaning => ({ text, handling: "refused" });

/** Fields with one meaning in all requests. */
const SHARED: Meanings = {
  model:
    "The model, one of its aliases or a preset. With `:low`, `:medium` or `:high` behind it, the effort. Default: the first model served.",
  models: "Models to use if `model` is not served: the first that is.",
  preset: "A preset of the operator, by name.",
  messages: "The conversation so far. An assistant's message at its end is continued.",
  input: "A text, or items: messages, reasoning, calls and their results.",
  instructions: "Instructions of the developer, before all messages.",
  previous_response_id: "Continues a stored response.",
  conversation:
    "Continues a stored conversation, and adds to it. Not together with `previous_response_id`.",
  tools: "Tools that the model may call. Those that the gateway runs are named by their type.",
  tool_choice: "Whether the model may, must or must not call a tool, and which.",
  parallel_tool_calls: "Whether one answer may call several tools. Default: true.",
  builtin_tools: "Tools of the model's training that the client runs: `browser`, `python`.",
  plugins:
    "OpenRouter's plugins. `web` searches, if the gateway does; files are read without `file-parser`; others are reported as skipped.",
  temperature: "Randomness, 0 to 2. Default: 1.",
  top_p: "Samples from the most likely tokens of this total probability. Default: 1.",
  top_k: "Samples from this many of the most likely tokens.",
  presence_penalty: "Penalty for tokens that have occurred, -2 to 2.",
  frequency_penalty: "Penalty for tokens by how often they have occurred, -2 to 2.",
  top_logprobs: "How many alternatives are returned for each token.",
  stream: "Send the answer in events while it is written. Default: false.",
  return_progress:
    "In streams, tell how far the prompt has been processed, if the engine reports it.",
  stream_options: "Options of streams.",
  prompt_cache_key:
    "Requests with the same value go to the same backend, whose cache holds the prompt.",
  metadata: "Pairs of the client's own, returned with the object.",
  prompt: refused("Prompts without messages, and stored ones, are not supported."),
  items: "Items that the conversation begins with, or that are added to it.",
};

const BODIES: Readonly<Record<string, Meanings>> = {
  ChatCompletionRequest: {
    functions: "The older form of `tools`.",
    function_call: "The older form of `tool_choice`.",
    response_format: "Text, a JSON object, or JSON by a schema, which is enforced on every engine.",
    web_search_options: "Offers web search, if the gateway runs it.",
    max_tool_calls: "Most calls of tools that the gateway runs.",
    reasoning: "Effort or budget of the reasoning, and whether it is returned.",
    reasoning_effort:
      "How much the model reasons: `none` to `max`, mapped to low, medium or high. Default: medium.",
    include_reasoning: "`false` leaves reasoning out of the answer.",
    max_completion_tokens: "Most tokens of the answer, reasoning included.",
    max_tokens: "The older name of `max_completion_tokens`.",
    min_p: "Leaves out tokens less likely than this share of the most likely one.",
    repetition_penalty: "Penalty for repetitions, up to 2; 1 is none.",
    seed: "Makes sampling repeatable, as far as the engine does.",
    logit_bias: "Changes the likelihood of ordinary tokens, by id.",
    logprobs: "Return the probabilities of the answer's tokens.",
    stop: "Up to four strings that end the answer and are not returned.",
    n: "Number of answers, 1 to 128. Default: 1.",
    modalities: "`text` only; others are refused.",
    audio: refused("gpt-oss writes text only."),
    session_id: "Requests with the same value go to the same backend.",
  },
  ResponseRequest: {
    context_management: "Shortens a long conversation to a summary on the gateway.",
    reasoning: "Effort of the reasoning, and whether it is summarized.",
    text: "The format of the answer: text, a JSON object, or JSON by a schema, which is enforced on every engine.",
    truncation:
      "`auto` drops the oldest items of an input that is too long; `disabled` refuses it. Default: disabled.",
    max_output_tokens: "Most tokens of the output, reasoning included.",
    max_tool_calls: "Most calls of tools that the gateway runs.",
    include: "Further parts of the output, such as encrypted reasoning.",
    prompt_cache_options:
      "Reports how the prompt differs from that of an earlier response, or samples nothing.",
    generate: "`false`: the request is checked and stored, and nothing is sampled.",
    store: "Keep the response, so that it can be read and continued. Default: true.",
    background: "Answer at once, and write the response afterwards.",
    safety_identifier: ignored("Returned in the response."),
    user: ignored("Returned in the response."),
    service_tier: ignored("The response says `default`."),
  },
  MessagesRequest: {
    system: "Instructions, before all messages.",
    thinking: "Whether reasoning is returned, and its budget.",
    container: "The interpreter of an earlier message, to go on with.",
    output_config:
      "Effort of the reasoning, and the format of the answer, which is enforced on every engine.",
    output_format: "The older name of `output_config.format`.",
    context_management: "Clears old tool results and reasoning from the prompt.",
    compaction: "`summarize`: the answer is a summary of the conversation.",
    mcp_servers: "MCP servers whose tools the gateway runs.",
    diagnostics: "Reports why the engine's cache could not hold the beginning of the prompt.",
    thread: refused("Conversations are not stored on this API."),
    safeguards: refused("The client runs the check itself."),
    stop_sequences: "Strings that end the answer and are not returned.",
    max_tokens: "Most tokens of the answer, reasoning included. Required.",
  },
};

/** Requests that share the fields of another. */
const LIKE: Readonly<Record<string, string>> = {
  InputTokensRequest: "ResponseRequest",
  CompactRequest: "ResponseRequest",
  CountTokensRequest: "MessagesRequest",
};

export function meaningOf(body: string, field: string): Meaning | undefined {
  const own = BODIES[LIKE[body] ?? body];
  const table = own !== undefined && Object.hasOwn(own, field) ? own : SHARED;
  const found = Object.hasOwn(table, field) ? table[field] : undefined;
  return typeof found === "string" ? { text: found, handling: "enforced" } : found;
}
