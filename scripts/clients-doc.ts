/** Code of clients in the docs, made as the chat makes it, in each block behind `<!-- snippet: CLIENT API -->`. */
import { toBody } from "../src/snippets/bodies.ts";
import { toSnippet } from "../src/snippets/index.ts";
import { ALL_APIS } from "../src/snippets/snippet.ts";

const BLOCK = /^(<!-- snippet: ([\w-]+) (\w+) -->\n\n)```[^`]*```$/gm;

/** The page with each such block as it should be. */
export function withSnippets(page: string): string {
  return page.replaceAll(BLOCK, (_, marker: string, client: string, name: string) => {
    const api = ALL_APIS.find((each) => each === name);
    if (api === undefined) throw new Error(`There is no API ${name}.`);
    const messages = [{ role: "user", text: "Hello!" }] as const;
    const body = toBody(api, { model: "openai/gpt-oss-20b", messages, tools: [], options: {} });
    const { language, code } = toSnippet(client, {
      origin: "http://127.0.0.1:8787",
      api,
      body,
      key: undefined,
      contextLength: 131_072,
    });
    return `${marker}\`\`\`${TAGS[language] ?? language}\n${code.trimEnd()}\n\`\`\``;
  });
}

const TAGS: Readonly<Record<string, string>> = { typescript: "ts", bash: "sh" };
