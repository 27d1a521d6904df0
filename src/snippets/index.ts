/** Requests as code for the usual clients: pure, for pages, terminals and docs. */
import { CURL, FETCH } from "./clients/http.ts";
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
  FETCH,
];

/** @throws RangeError if the client does not exist or does not use this API */
export function toSnippet(id: string, input: SnippetInput): Snippet {
  const client = CLIENTS.find((each) => each.id === id);
  if (client === undefined || !client.apis.includes(input.api)) {
    throw new RangeError(`There is no code of ${id} for this API.`);
  }
  return client.make(input);
}
