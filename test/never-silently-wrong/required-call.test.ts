/** A required call is made, on each API, plain and streamed, whatever the engine's output looks like. */
import { describe, expect, test } from "vitest";
import type { CompletionRequest } from "../../src/index.ts";
import { createBrowsingApp } from "../helpers/browsing-app.ts";
import { scriptedEngine, type ScriptedOptions } from "../helpers/scripted-engine.ts";
import { spelledIds } from "../helpers/spelled.ts";
import { type Client, type Form, FORMS } from "./clients.ts";

const ENGINES: Readonly<Record<string, ScriptedOptions>> = {
  "ids under constraints": { capabilities: { constraints: ["json-schema", "choice"] } },
  "ids without constraints": {},
  pieces: { form: "pieces", batch: 3 },
  text: { form: "text", batch: 3 },
};

interface Row {
  readonly choice: "any" | "named";
  readonly tools: readonly string[];
  readonly reasons: boolean;
  /** The output of the engine, call after call. */
  readonly writes: readonly string[];
  readonly reply: { readonly reasoning: string; readonly calls: readonly string[] };
  /** The text that the gateway adds to the prompt after the first call of the engine. */
  readonly added: readonly string[];
  /** The constraints of the engine calls. Undefined: the engine must get none. */
  readonly constraints: readonly CompletionRequest["constraint"][] | undefined;
}

const HEADER = " to=functions.f<|channel|>commentary <|constrain|>json<|message|>";
const FORM = {
  type: "json-schema",
  schema: '{"type":"object","additionalProperties":true}',
} as const;
const CHOICE = { type: "choice", options: [".f", ".g"] } as const;
const REASONED = "<|end|><|start|>assistant";

const ROWS: Readonly<Record<string, Row>> = {
  "of one function: free reasoning, then its header is forced": {
    choice: "any",
    tools: ["f"],
    reasons: true,
    writes: ["Hm.<|end|>", '{"a":1}<|call|>'],
    reply: { reasoning: "Hm.", calls: ['f {"a":1}'] },
    added: [`Hm.${REASONED}${HEADER}`],
    constraints: [undefined, FORM],
  },
  "of one of several: the model chooses it": {
    choice: "any",
    tools: ["f", "g"],
    reasons: true,
    writes: ["Hm.<|end|>", ".g<|channel|>commentary", "{}<|call|>"],
    reply: { reasoning: "Hm.", calls: ["g {}"] },
    added: [`Hm.${REASONED} to=functions`, `.g${HEADER.slice(HEADER.indexOf("<|channel|>"))}`],
    constraints: [undefined, CHOICE, FORM],
  },
  "of the named one: nothing is chosen": {
    choice: "named",
    tools: ["f", "g"],
    reasons: true,
    writes: ["Hm.<|end|>", '{"a":1}<|call|>'],
    reply: { reasoning: "Hm.", calls: ['f {"a":1}'] },
    added: [`Hm.${REASONED}${HEADER}`],
    constraints: [undefined, FORM],
  },
  "without reasoning, of one function: there is no analysis before it": {
    choice: "any",
    tools: ["f"],
    reasons: false,
    writes: ['{"a":1}<|call|>'],
    reply: { reasoning: "", calls: ['f {"a":1}'] },
    added: [],
    constraints: [FORM],
  },
  "without reasoning, of one of several: the choice comes first": {
    choice: "any",
    tools: ["f", "g"],
    reasons: false,
    writes: [".g<|channel|>commentary", "{}<|call|>"],
    reply: { reasoning: "", calls: ["g {}"] },
    added: [`.g${HEADER.slice(HEADER.indexOf("<|channel|>"))}`],
    constraints: [CHOICE, FORM],
  },
  "without reasoning, invalid arguments are never emitted": {
    choice: "any",
    tools: ["f"],
    reasons: false,
    writes: ["nonsense<|call|>", '{"a":1}<|call|>'],
    reply: { reasoning: "", calls: ['f {"a":1}'] },
    added: [
      "nonsense<|call|><|start|>functions.f to=assistant<|channel|>commentary<|message|>Error: the arguments were " +
        "rejected: not valid JSON: Unexpected token 'o', \"nonsense\" is not valid JSON. Call the function again." +
        `${REASONED}${HEADER}`,
    ],
    // An engine that breaks its constraint fails the turn.
    constraints: undefined,
  },
};

/** The fields of a request for a call, and against reasoning. */
function fieldsOf({ name }: Client, { choice, reasons }: Row): object {
  switch (name) {
    case "Chat Completions":
      return {
        tool_choice: choice === "any" ? "required" : { type: "function", function: { name: "f" } },
        ...(!reasons && { reasoning_effort: "none" }),
      };
    case "Responses":
      return {
        tool_choice: choice === "any" ? "required" : { type: "function", name: "f" },
        ...(!reasons && { reasoning: { effort: "none" } }),
      };
    case "Messages":
      return {
        tool_choice: choice === "any" ? { type: "any" } : { type: "tool", name: "f" },
        ...(!reasons && { thinking: { type: "disabled" } }),
      };
    default:
      return name satisfies never;
  }
}

async function ask({ client, stream, read }: Form, row: Row, options: ScriptedOptions) {
  const engine = scriptedEngine(row.writes, options);
  const { post } = createBrowsingApp({ engine, toolbox: {} });
  const body = client.toBody([{ type: "user", text: "Do it." }], row.tools);
  const response = await post(client.path, { ...body, ...fieldsOf(client, row), stream });
  const { choices, usage } = read(await response.text());
  return { engine, choices, usage };
}

describe.each(FORMS)("$name", (form) => {
  describe.each(Object.entries(ENGINES))("%s", (_, options) => {
    const can = options.capabilities?.constraints !== undefined;
    const rows = Object.entries(ROWS).filter(([, { constraints }]) => !can || constraints);
    test.each(rows)("%s", async (_sentence, row) => {
      const { engine, choices, usage } = await ask(form, row, options);
      expect(choices).toMatchObject([{ content: "", finish: "tool-calls" }]);
      const [{ reasoning, calls } = { reasoning: "", calls: [] }] = choices;
      expect({ reasoning, calls: calls.map(({ name, args }) => `${name} ${args}`) }).toEqual(
        row.reply,
      );
      const { prompts, requests } = engine;
      // Appended to, never rewritten: the engine's cache is of ids.
      for (const [index, { prompt }] of requests.entries()) {
        const before = requests[index - 1]?.prompt.ids ?? [];
        expect(prompt.ids.slice(0, before.length)).toEqual(before);
      }
      expect(prompts.slice(1).map((prompt, index) => prompt.slice(prompts[index]?.length))).toEqual(
        row.added,
      );
      expect(requests.map(({ constraint }) => constraint)).toEqual(
        can ? row.constraints : requests.map(() => undefined),
      );
      expect(usage?.prompt).toBe(requests[0]?.prompt.ids.length);
      // A choice in text ends before the token that follows it.
      const sampled = spelledIds(row.writes.join("").replace("commentary{}", "{}")).length;
      expect([sampled, options.form === "text" && sampled - 1]).toContain(usage?.completion);
    });
  });
});
