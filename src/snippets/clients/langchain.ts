/** LangChain for TypeScript and for Python, over Chat Completions and Messages. */
import { toChatPart, toContent } from "../attachments.ts";
import { toChatFormat } from "../bodies/chat.ts";
import { fromBody } from "../bodies.ts";
import { type Body, compact, type Composed, type ComposedMessage, toSteps } from "../composed.ts";
import { toPython, toTypeScript } from "../literals.ts";
import type { SnippetClient, SnippetInput } from "../snippet.ts";
import { toPythonKey } from "./sdk-python.ts";
import { toKey } from "./sdk-typescript.ts";
import { Code, parseOr, toNote } from "./typed-code.ts";

export const LANGCHAIN_TYPESCRIPT: SnippetClient = {
  id: "langchain",
  label: "LangChain",
  apis: ["chat"],
  make: (input) => {
    const composed = fromBody(input.api, input.body);
    const note = toNote(composed, { reasoning: "all" });
    return {
      language: "typescript",
      file: "request.mts",
      code: toScript(input, composed),
      run: "npm install @langchain/openai @langchain/core && node request.mts",
      ...(note !== undefined && { note }),
    };
  },
};

function toScript({ origin, key }: SnippetInput, composed: Composed): string {
  const { options, tools } = composed;
  const settings = compact({
    model: composed.model,
    apiKey: new Code(toKey(key)),
    configuration: { baseURL: `${origin}/v1` },
    temperature: options.temperature,
    topP: options.topP,
    maxTokens: options.maxTokens,
    stop: options.stop,
    modelKwargs: toExtra(composed),
  });
  const bound = compact({
    tool_choice: toChoice(options.toolChoice),
    parallel_tool_calls: options.parallelCalls,
  });
  const functions = tools.map((tool) => ({ type: "function", function: tool }));
  const binding =
    tools.length === 0 ? "" : `.bindTools(${toTypeScript(functions)}, ${toTypeScript(bound)})`;
  return `import { ChatOpenAI } from "@langchain/openai";

const model = new ChatOpenAI(${toTypeScript(settings)})${binding};
const answer = await model.invoke(${toTypeScript(toList(composed))});
console.log(answer.content${tools.length > 0 ? ", answer.tool_calls" : ""});
`;
}

function toChoice(choice: Composed["options"]["toolChoice"]): unknown {
  return typeof choice === "object" ? { type: "function", function: choice } : choice;
}

/** Fields of the body for which LangChain has no parameter. */
function toExtra({ options }: Composed): Body | undefined {
  const { effort, budget, seed, format } = options;
  const extra = compact({
    reasoning_effort: budget === undefined ? effort : undefined,
    reasoning: budget === undefined ? undefined : { max_tokens: budget },
    seed,
    response_format: format && toChatFormat(format),
  });
  return Object.keys(extra).length === 0 ? undefined : extra;
}

function toList({ system, messages }: Composed): object[] {
  return [
    ...(system === undefined ? [] : [{ role: "system", content: system }]),
    ...messages.flatMap((message) => toMessages(message)),
  ];
}

function toMessages(message: ComposedMessage): object[] {
  if (message.role === "user") {
    return [{ role: "user", content: toContent(message, "text", toChatPart) }];
  }
  return toSteps(message.parts).flatMap((step) => {
    const calls = step.filter((part) => part.type === "call");
    const content = step.flatMap((part) => (part.type === "text" ? part.text : [])).join("");
    return [
      compact({
        role: "assistant",
        content,
        tool_calls:
          calls.length === 0
            ? undefined
            : calls.map(({ id, name, arguments: given }) => ({
                id,
                name,
                args: parseOr(given),
                type: "tool_call",
              })),
      }),
      ...calls.flatMap(({ id, result }) =>
        result === undefined ? [] : [{ role: "tool", tool_call_id: id, content: result }],
      ),
    ];
  });
}

export const LANGCHAIN_PYTHON: SnippetClient = {
  id: "langchain-python",
  label: "LangChain (Python)",
  apis: ["chat"],
  make: (input) => {
    const { origin, key } = input;
    const composed = fromBody(input.api, input.body);
    const { options, tools } = composed;
    const note = toNote(composed, { reasoning: "all" });
    const { reasoning, ...named } = toExtra(composed) ?? {};
    const settings = compact({
      model: composed.model,
      base_url: `${origin}/v1`,
      temperature: options.temperature,
      top_p: options.topP,
      max_tokens: options.maxTokens,
      stop: options.stop,
      ...named,
      extra_body: reasoning === undefined ? undefined : { reasoning },
    });
    const binding = compact({
      tool_choice: toChoice(options.toolChoice),
      parallel_tool_calls: options.parallelCalls,
    });
    const functions = tools.map((tool) => ({ type: "function", function: tool }));
    return {
      language: "python",
      file: "request.py",
      code: `${key === "variable" ? "import os\n\n" : ""}from langchain_openai import ChatOpenAI

model = ChatOpenAI(
    api_key=${toPythonKey(key)},
${toArguments(settings)})${tools.length === 0 ? "" : `.bind_tools(\n    ${toPython(functions, "    ")},\n${toArguments(binding)})`}
answer = model.invoke(${toPython(toList(composed))})
print(answer.content${tools.length > 0 ? ", answer.tool_calls" : ""})
`,
      run: "pip install langchain-openai && python request.py",
      ...(note !== undefined && { note }),
    };
  },
};

function toArguments(values: Readonly<Record<string, unknown>>): string {
  return Object.entries(values)
    .map(([name, value]) => `    ${name}=${toPython(value, "    ")},\n`)
    .join("");
}
