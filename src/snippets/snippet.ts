/** The input and the output of snippets. */
import type { ApiName, Body } from "./composed.ts";

/** The name of the variable that holds the key. */
export const KEY_VARIABLE = "HARMONY_GATEWAY_KEY";

export interface SnippetInput {
  /** The gateway's URL for clients, without a slash at its end: `https://llm.example.com`. */
  readonly origin: string;
  readonly api: ApiName;
  /** The whole request, without `stream`. */
  readonly body: Body;
  /** The key, or `variable`: read from the environment. Undefined: the gateway needs no key. */
  readonly key: "variable" | (string & {}) | undefined;
  /** Context length of the model, for clients that need it. */
  readonly contextLength?: number | undefined;
}

export interface Snippet {
  readonly language: "bash" | "typescript" | "python" | "toml" | "json";
  readonly file: string;
  readonly code: string;
  /** The command that runs the snippet. Empty: the snippet is a file of settings. */
  readonly run: string;
  /** Features that the client cannot express, in sentences. */
  readonly note?: string;
}

export interface SnippetClient {
  readonly id: string;
  readonly label: string;
  readonly apis: readonly ApiName[];
  /** The code configures a program, without a request. */
  readonly isSettings?: true;
  readonly make: (input: SnippetInput) => Snippet;
}

export const ALL_APIS: readonly ApiName[] = ["chat", "responses", "messages"];

/** Placeholder for clients that require a key, where the gateway has none. */
export const NO_KEY = "none";
