/**
 * The three APIs behind one interface: the same conversation in the form of each, and the reply in one form.
 *
 * The tests of this folder are the table of sentences that clients rely on and cannot check. A topic has a file of its
 * own; a row is a test whose name is the sentence, for each API (`test.each(CLIENTS)`), for each API plain and streamed
 * (`test.each(FORMS)`), or for each place, through the application.
 * Sentences about one part stand with its tests: the codes of errors (`api/error-codes`), background responses over a slow
 * store (`api/responses/background-slow-store`), cut transcripts (`api/responses/truncate`), tools that the client runs
 * (`client-builtins` of an API), OpenChatML (`openchatml/promises`), white space (`turn/steering/white-space`).
 */
import { APIS, type Observed } from "../../proof/fuzz/turns/apis.ts";
import {
  chatReply,
  messagesReply,
  type ResponsesItem,
  responsesReply,
} from "../helpers/replies.ts";

/** The entries of a conversation, in order. */
export type Entry =
  | { readonly type: "system" | "user"; readonly text: string }
  | {
      readonly type: "assistant";
      readonly reasoning?: string;
      readonly text?: string;
      readonly calls?: readonly Call[];
    }
  | { readonly type: "result"; readonly id: string; readonly text: string };

export interface Call {
  readonly id: string;
  readonly name: string;
  /** JSON. */
  readonly args: string;
}

export interface Reply {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly Call[];
}

export interface Client {
  readonly name: "Chat Completions" | "Responses" | "Messages";
  readonly path: string;
  /** `tools`: names of functions, which take any object. With a dot: of a namespace, where the API has them. */
  readonly toBody: (entries: readonly Entry[], tools?: readonly string[]) => object;
  readonly readReply: (body: unknown) => Reply;
}

export const MODEL = "openai/gpt-oss-20b";
const PARAMETERS = { type: "object", additionalProperties: true };

export const chat: Client = {
  name: "Chat Completions",
  path: "/v1/chat/completions",
  toBody: (entries, tools = []) => ({
    model: MODEL,
    messages: entries.map((entry) => {
      if (entry.type === "result") {
        return { role: "tool", tool_call_id: entry.id, content: entry.text };
      }
      if (entry.type !== "assistant") return { role: entry.type, content: entry.text };
      const calls = entry.calls?.map(({ id, name, args }) => ({
        id,
        type: "function",
        function: { name, arguments: args },
      }));
      return {
        role: "assistant",
        content: entry.text ?? null,
        reasoning: entry.reasoning,
        tool_calls: calls,
      };
    }),
    ...(tools.length > 0 && {
      tools: tools.map((name) => ({
        type: "function",
        function: { name, parameters: PARAMETERS },
      })),
    }),
  }),
  readReply(body) {
    const { message } = chatReply.parse(body).choices[0];
    return {
      reasoning: message.reasoning ?? "",
      text: message.content ?? "",
      calls: (message.tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => ({
        id,
        name,
        args,
      })),
    };
  },
};

export const responses: Client = {
  name: "Responses",
  path: "/v1/responses",
  toBody: (entries, tools = []) => ({
    model: MODEL,
    input: entries.flatMap((entry): object[] => {
      if (entry.type === "result") {
        return [{ type: "function_call_output", call_id: entry.id, output: entry.text }];
      }
      if (entry.type !== "assistant") return [{ role: entry.type, content: entry.text }];
      const { reasoning, text, calls = [] } = entry;
      const content = [{ type: "reasoning_text", text: reasoning }];
      return [
        ...(reasoning === undefined ? [] : [{ type: "reasoning", summary: [], content }]),
        ...(text === undefined ? [] : [{ role: "assistant", content: text }]),
        ...calls.map(({ id, name, args }) => ({
          type: "function_call",
          call_id: id,
          name,
          arguments: args,
        })),
      ];
    }),
    ...(tools.length > 0 && { tools: toResponsesTools(tools) }),
  }),
  readReply(body) {
    const { output } = responsesReply.parse(body);
    return {
      reasoning: output.map((item) => textOf(item, "reasoning")).join(""),
      text: output.map((item) => textOf(item, "message")).join(""),
      calls: output.flatMap(
        ({ type, namespace, call_id: id = "", name = "", arguments: args = "" }) =>
          type === "function_call"
            ? [{ id, name: namespace == null ? name : `${namespace}.${name}`, args }]
            : [],
      ),
    };
  },
};

function toResponsesTools(names: readonly string[]): object[] {
  const toFunction = (name: string) => ({ type: "function", name, parameters: PARAMETERS });
  const plain = names.filter((name) => !name.includes("."));
  const dotted = names.filter((name) => name.includes("."));
  const namespaces = Map.groupBy(dotted, (name) => name.slice(0, name.indexOf(".")));
  return [
    ...plain.map((name) => toFunction(name)),
    ...Array.from(namespaces, ([name, tools]) => ({
      type: "namespace",
      name,
      description: name,
      tools: tools.map((tool) => toFunction(tool.slice(name.length + 1))),
    })),
  ];
}

export const messages: Client = {
  name: "Messages",
  path: "/v1/messages",
  toBody: (entries, tools = []) => ({
    model: MODEL,
    max_tokens: 1000,
    thinking: { type: "adaptive", display: "summarized" },
    messages: entries.map((entry) => {
      if (entry.type === "result") {
        const content = [{ type: "tool_result", tool_use_id: entry.id, content: entry.text }];
        return { role: "user", content };
      }
      if (entry.type !== "assistant") return { role: entry.type, content: entry.text };
      const { reasoning, text, calls = [] } = entry;
      return {
        role: "assistant",
        content: [
          ...(reasoning === undefined
            ? []
            : [{ type: "thinking", thinking: reasoning, signature: "" }]),
          ...(text === undefined ? [] : [{ type: "text", text }]),
          ...calls.map(({ id, name, args }) => ({
            type: "tool_use",
            id,
            name,
            input: JSON.parse(args),
          })),
        ],
      };
    }),
    ...(tools.length > 0 && {
      tools: tools.map((name) => ({ name, input_schema: PARAMETERS })),
    }),
  }),
  readReply(body) {
    const { content } = messagesReply.parse(body);
    return {
      reasoning: content.map(({ thinking = "" }) => thinking).join(""),
      text: content.map(({ text = "" }) => text).join(""),
      calls: content.flatMap(({ type, id = "", name = "", input }) =>
        type === "tool_use" ? [{ id, name, args: JSON.stringify(input) }] : [],
      ),
    };
  },
};

export const CLIENTS: readonly Client[] = [chat, responses, messages];

/** A reply of one API, plain or streamed. */
export interface Form {
  readonly name: string;
  readonly client: Client;
  readonly stream: boolean;
  /** Reads the body like a strict client: a stream that breaks a rule of its API throws. */
  readonly read: (text: string) => Observed;
}

export const FORMS: readonly Form[] = CLIENTS.flatMap((client) => {
  const api = Object.values(APIS).find(({ path }) => path === client.path);
  if (api === undefined) throw new Error(`No reader for ${client.path}.`);
  const { readPlain, readStream } = api;
  return [
    {
      name: `${client.name}, plain`,
      client,
      stream: false,
      read: (text) => readPlain(JSON.parse(text)),
    },
    { name: `${client.name}, streamed`, client, stream: true, read: readStream },
  ];
});

function textOf({ type, content = [] }: ResponsesItem, wanted: string): string {
  return type === wanted ? content.map(({ text }) => text).join("") : "";
}
