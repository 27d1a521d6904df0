/** Requests as code for the usual clients: pure, for pages, terminals and docs. */
import { AGENTS_SDK } from "./clients/agents-sdk.ts";
import { CLAUDE_CODE, CODEX, OPENCODE } from "./clients/agents.ts";
import { AI_SDK } from "./clients/ai-sdk.ts";
import { CURL, FETCH } from "./clients/http.ts";
import { LANGCHAIN_PYTHON, LANGCHAIN_TYPESCRIPT } from "./clients/langchain.ts";
import { ANTHROPIC_PYTHON, OPENAI_PYTHON } from "./clients/sdk-python.ts";
import { ANTHROPIC_TYPESCRIPT, OPENAI_TYPESCRIPT } from "./clients/sdk-typescript.ts";
import type { Snippet, SnippetClient, SnippetInput } from "./snippet.ts";

export type { Snippet, SnippetInput } from "./snippet.ts";

export const CLIENTS: readonly SnippetClient[] = [
  CURL,
  OPENAI_PYTHON,
  ANTHROPIC_PYTHON,
  OPENAI_TYPESCRIPT,
  ANTHROPIC_TYPESCRIPT,
  AI_SDK,
  LANGCHAIN_TYPESCRIPT,
  LANGCHAIN_PYTHON,
  AGENTS_SDK,
  FETCH,
  CODEX,
  CLAUDE_CODE,
  OPENCODE,
];

/** @throws RangeError if the client does not exist or does not use this API */
export function toSnippet(id: string, input: SnippetInput): Snippet {
  const client = CLIENTS.find((each) => each.id === id);
  if (client === undefined || !client.apis.includes(input.api)) {
    throw new RangeError(`There is no code of ${id} for this API.`);
  }
  return client.make(input);
}
