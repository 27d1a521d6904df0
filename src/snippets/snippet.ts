/** What a snippet is made of, and what it is. */
import type { ApiName, Body } from "./composed.ts";

/** The name of the variable that holds the key. */
export const KEY_VARIABLE = "HARMONY_GATEWAY_KEY";

export interface SnippetInput {
  /** Where clients reach the gateway, without a slash at its end: `https://llm.example.com`. */
  readonly origin: string;
  readonly api: ApiName;
  /** The whole request, without `stream`. */
  readonly body: Body;
  /** `variable`: read from the environment. Undefined: the gateway needs none. */
  readonly key: "variable" | (string & {}) | undefined;
  /** Of the model, for clients that have to know it. */
  readonly contextLength?: number | undefined;
}

export interface Snippet {
  readonly language: "bash" | "typescript" | "python" | "toml" | "json";
  readonly file: string;
  readonly code: string;
  /** The command that runs it. Empty: it is a file of settings. */
  readonly run: string;
  /** What the client cannot express, in sentences. */
  readonly note?: string;
}

export interface SnippetClient {
  readonly id: string;
  readonly label: string;
  readonly apis: readonly ApiName[];
  /** Its code configures a program, and holds no request. */
  readonly isSettings?: true;
  readonly make: (input: SnippetInput) => Snippet;
}

export const ALL_APIS: readonly ApiName[] = ["chat", "responses", "messages"];

/** Of clients that want a key even where the gateway does not. */
export const NO_KEY = "none";
