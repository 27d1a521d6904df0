/** Code samples of each API's request, for the page `/api` and the OpenAPI document. */
import { toBody } from "../../snippets/bodies.ts";
import type { ApiName, Body } from "../../snippets/composed.ts";
import { toSnippet } from "../../snippets/index.ts";

export interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

const APIS: Readonly<Record<string, ApiName>> = {
  "/v1/chat/completions": "chat",
  "/v1/responses": "responses",
  "/v1/messages": "messages",
};

const CLIENTS: Readonly<
  Record<ApiName, readonly (readonly [id: string, lang: string, label: string])[]>
> = {
  chat: [
    ["curl", "Shell", "curl"],
    ["openai-python", "Python", "Python"],
    ["openai-typescript", "JavaScript", "TypeScript"],
  ],
  responses: [
    ["curl", "Shell", "curl"],
    ["openai-python", "Python", "Python"],
    ["openai-typescript", "JavaScript", "TypeScript"],
  ],
  messages: [
    ["curl", "Shell", "curl"],
    ["anthropic-python", "Python", "Python"],
    ["anthropic-typescript", "JavaScript", "TypeScript"],
  ],
};

/** @returns undefined for a path of no API */
export function exampleBody(path: string): Body | undefined {
  const api = Object.hasOwn(APIS, path) ? APIS[path] : undefined;
  return (
    api &&
    toBody(api, {
      model: "openai/gpt-oss-20b",
      messages: [{ role: "user", text: "Why is the sky blue?" }],
      tools: [],
      options: { effort: "low" },
    })
  );
}

/** @param origin the gateway's address for clients */
export function codeSamples(path: string, origin: string): readonly CodeSample[] {
  const api = Object.hasOwn(APIS, path) ? APIS[path] : undefined;
  const body = exampleBody(path);
  if (api === undefined || body === undefined) return [];
  return CLIENTS[api].map(([id, lang, label]) => ({
    lang,
    label,
    source: toSnippet(id, { origin, api, body, key: "variable" }).code,
  }));
}
