/** curl and fetch. */
import { API_PATHS, type ApiName } from "../composed.ts";
import { quoteShell, toTypeScript } from "../literals.ts";
import { ALL_APIS, KEY_VARIABLE, type SnippetClient, type SnippetInput } from "../snippet.ts";

export const CURL: SnippetClient = {
  id: "curl",
  label: "curl",
  apis: ALL_APIS,
  make: ({ origin, api, body, key }) => {
    const headers = ["-H 'content-type: application/json'", ...toHeaderFlags(api, key)];
    const lines = [
      `curl ${quoteUrl(`${origin}${API_PATHS[api]}`)}`,
      ...headers,
      `-d ${quoteShell(JSON.stringify(body, undefined, 2))}`,
    ];
    return {
      language: "bash",
      file: "request.sh",
      code: `${lines.join(" \\\n  ")}\n`,
      run: "sh request.sh",
    };
  },
};

function quoteUrl(url: string): string {
  return /^[\w.:/[\]-]+$/.test(url) ? url : quoteShell(url);
}

function toHeaderFlags(api: ApiName, key: SnippetInput["key"]): string[] {
  const flags = api === "messages" ? ["-H 'anthropic-version: 2023-06-01'"] : [];
  if (key === undefined) return flags;
  const [name, prefix] = toKeyHeader(api);
  // The shell expands the variable within double quotes.
  const header =
    key === "variable"
      ? `"${name}: ${prefix}$${KEY_VARIABLE}"`
      : quoteShell(`${name}: ${prefix}${key}`);
  return [...flags, `-H ${header}`];
}

function toKeyHeader(api: ApiName): readonly [name: string, prefix: string] {
  return api === "messages" ? ["x-api-key", ""] : ["authorization", "Bearer "];
}

/** Expression for the answer's content, by API. */
const ANSWER_OF: Readonly<Record<ApiName, string>> = {
  chat: "answer.choices[0].message",
  responses: "answer.output",
  messages: "answer.content",
};

export const FETCH: SnippetClient = {
  id: "fetch",
  label: "fetch",
  apis: ALL_APIS,
  make: ({ origin, api, body, key }) => {
    const [name, prefix] = toKeyHeader(api);
    const value =
      key === "variable"
        ? `\`${prefix}\${process.env.${KEY_VARIABLE}}\``
        : JSON.stringify(`${prefix}${key}`);
    const headers = [
      '"content-type": "application/json"',
      ...(api === "messages" ? ['"anthropic-version": "2023-06-01"'] : []),
      ...(key === undefined ? [] : [`${/-/.test(name) ? `"${name}"` : name}: ${value}`]),
    ];
    return {
      language: "typescript",
      file: "request.mjs",
      code: `const response = await fetch(${JSON.stringify(`${origin}${API_PATHS[api]}`)}, {
  method: "POST",
  headers: { ${headers.join(", ")} },
  body: JSON.stringify(${toTypeScript(body, "  ")}),
});
const answer = await response.json();
if (!response.ok) throw new Error(answer.error.message);
console.log(${ANSWER_OF[api]});
`,
      run: "node request.mjs",
    };
  },
};
