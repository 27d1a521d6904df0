/** The SDKs of OpenAI and Anthropic for Python. Fields without a parameter go into `extra_body`. */
import type { ApiName, Body } from "../composed.ts";
import { toPython } from "../literals.ts";
import { KEY_VARIABLE, NO_KEY, type SnippetClient, type SnippetInput } from "../snippet.ts";

const NAMED: Readonly<Record<ApiName, ReadonlySet<string>>> = {
  chat: new Set(
    (
      "messages model frequency_penalty logit_bias logprobs max_completion_tokens max_tokens metadata n " +
      "parallel_tool_calls presence_penalty reasoning_effort response_format seed stop store temperature tool_choice tools " +
      "top_logprobs top_p user"
    ).split(" "),
  ),
  responses: new Set(
    (
      "input model include instructions max_output_tokens max_tool_calls metadata parallel_tool_calls " +
      "previous_response_id reasoning store temperature text tool_choice tools top_logprobs top_p truncation"
    ).split(" "),
  ),
  messages: new Set(
    "max_tokens messages model stop_sequences system temperature thinking tool_choice tools top_k top_p".split(
      " ",
    ),
  ),
};

function toArguments(api: ApiName, body: Body): string {
  const entries = Object.entries(body);
  const extra = entries.filter(([name]) => !NAMED[api].has(name));
  return [
    ...entries.filter(([name]) => NAMED[api].has(name)),
    ...(extra.length > 0 ? [["extra_body", Object.fromEntries(extra)] as const] : []),
  ]
    .map(([name, value]) => `    ${name}=${toPython(value, "    ")},\n`)
    .join("");
}

export const OPENAI_PYTHON: SnippetClient = {
  id: "openai-python",
  label: "Python",
  apis: ["chat", "responses"],
  make: ({ origin, api, body, key }) => ({
    language: "python",
    file: "request.py",
    code: `${toImports("openai", "OpenAI", key)}
client = OpenAI(
    base_url=${JSON.stringify(`${origin}/v1`)},
    api_key=${toPythonKey(key)},
)
answer = client.${api === "chat" ? "chat.completions" : "responses"}.create(
${toArguments(api, body)})
print(${api === "chat" ? "answer.choices[0].message.content" : "answer.output_text"})
`,
    run: "pip install openai && python request.py",
  }),
};

export const ANTHROPIC_PYTHON: SnippetClient = {
  id: "anthropic-python",
  label: "Python",
  apis: ["messages"],
  make: ({ origin, api, body, key }) => ({
    language: "python",
    file: "request.py",
    code: `${toImports("anthropic", "Anthropic", key)}
client = Anthropic(
    base_url=${JSON.stringify(origin)},
    api_key=${toPythonKey(key)},
)
answer = client.messages.create(
${toArguments(api, body)})
print(answer.content)
`,
    run: "pip install anthropic && python request.py",
  }),
};

function toImports(module: string, name: string, key: SnippetInput["key"]): string {
  return `${key === "variable" ? "import os\n\n" : ""}from ${module} import ${name}\n`;
}

export function toPythonKey(key: SnippetInput["key"]): string {
  return key === "variable" ? `os.environ["${KEY_VARIABLE}"]` : JSON.stringify(key ?? NO_KEY);
}
