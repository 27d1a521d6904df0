/** The application with a browser over a few documents, and OpenAI's and Anthropic's clients for it. */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import type { Engine, Store } from "../../src/index.ts";
import { openBrowser } from "../../src/tools/browser/open-browser.ts";
import { appOf, type TestAppOptions } from "./app.ts";
import { fakeTool } from "./fake-tool.ts";
import { testSettings } from "./gateway.ts";

type AppParts = Parameters<typeof appOf>[2];

export const BROWSER = openBrowser(
  { browserSearch: "local", browserAllow: [], browserDeny: [] },
  {
    requestPage: () => Promise.reject(new Error("local documents are not fetched")),
    documents: [
      { path: "rates.md", text: "# Policy rate\n\nThe rate is 0.5% since January." },
      { path: "history.md", text: "# History of the rate\n\nIt was 0.25% before." },
    ],
  },
);

export const MODEL = "openai/gpt-oss-20b";

export interface BrowsingOptions {
  readonly engine: Engine;
  readonly toolbox?: NonNullable<TestAppOptions["toolbox"]>;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly store?: Store;
  readonly contextLength?: number;
  readonly requestPage?: NonNullable<AppParts["requestPage"]>;
  readonly readPdf?: NonNullable<AppParts["readPdf"]>;
}

export interface BrowsingApp {
  readonly client: OpenAI;
  readonly anthropic: Anthropic;
  readonly post: (path: string, body: unknown) => Promise<Response>;
  /** Sends requests of other clients. */
  readonly send: typeof fetch;
  readonly get: (path: string) => Promise<Response>;
}

export function createBrowsingApp({
  engine,
  toolbox = { browser: BROWSER, python: () => fakeTool({ answer: () => "1\n" }) },
  settings: given,
  store,
  contextLength,
  requestPage,
  readPdf,
}: BrowsingOptions): BrowsingApp {
  const settings = testSettings({ metrics: "open", layout: "reference", ...given });
  const { layout } = settings;
  const model = {
    id: MODEL,
    engine,
    layout,
    ...(contextLength !== undefined && { contextLength }),
  };
  const app = appOf(settings, [model], {
    toolbox,
    requestPage,
    readPdf,
    ...(store && { store }),
  });
  const send = async (input: string | URL | Request, init?: RequestInit) =>
    app.request(input instanceof URL ? input.href : input, init);
  return {
    client: new OpenAI({
      baseURL: "http://localhost/v1",
      apiKey: "none",
      fetch: send,
      maxRetries: 0,
    }),
    anthropic: new Anthropic({
      baseURL: "http://localhost",
      apiKey: "none",
      fetch: send,
      maxRetries: 0,
    }),
    send,
    get: async (path) => send(`http://localhost${path}`),
    post: async (path, body) =>
      send(`http://localhost${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
  };
}

/** The model's output: it searches twice, opens a page, computes, and answers. */
export const BROWSING_SCRIPT: readonly string[] = [
  '<|channel|>analysis<|message|>I need the rate.<|end|><|start|>assistant<|channel|>analysis to=browser.search code<|message|>{"query":"policy rate"}<|call|>',
  '<|channel|>analysis to=browser.search code<|message|>{"query":"history of the rate"}<|call|>',
  '<|channel|>analysis to=browser.open code<|message|>{"cursor":0,"id":0}<|call|>',
  "<|channel|>analysis to=python code<|message|>print(0.5 - 0.25)<|call|>",
  "<|channel|>final<|message|>It is 0.5%【2†L4】, up from 0.25%.<|return|>",
];

export const BROWSING_ANSWER =
  "It is 0.5% ([files.example](https://files.example/rates.md)), up from 0.25%.";
