/**
 * One turn with two searches, an opened page, code that draws a chart, and a cited answer, over every API by its own client.
 * Real Pyodide runs the code. The clients' output is recorded in tools-session.md.
 */
import type Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import type { LocalPython } from "../../../src/node/python/local-runtime.ts";
import { createPythonTool } from "../../../src/tools/python/tool.ts";
import { BROWSER, type BrowsingApp, createBrowsingApp, MODEL } from "../../helpers/browsing-app.ts";
import { HAS_PYTHON, WITHOUT_PYTHON } from "../../helpers/parts.ts";
import { createTestPython } from "../../helpers/python.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";

const QUESTION = "What is the policy rate? Draw it beside the one before.";
const CODE = `\
rates = [0.25, 0.5]
rects = "".join(f'<rect x="{20 * i}" y="{30 - 40 * v:g}" width="15" height="{40 * v:g}"/>' for i, v in enumerate(rates))
with open("/mnt/data/rates.svg", "w") as file:
    file.write(f'<svg xmlns="http://www.w3.org/2000/svg">{rects}</svg>')
print(rates[1] - rates[0])
`;
const SVG =
  '<svg xmlns="http://www.w3.org/2000/svg"><rect x="0" y="20" width="15" height="10"/>' +
  '<rect x="20" y="10" width="15" height="20"/></svg>';
const CHART = `data:image/svg+xml;base64,${Buffer.from(SVG).toString("base64")}`;

const SCRIPT: readonly string[] = [
  "<|channel|>analysis<|message|>I need both rates.<|end|><|start|>assistant" +
    ' to=browser.search<|channel|>analysis code<|message|>{"query":"policy rate"}<|call|>',
  ' to=browser.search<|channel|>analysis code<|message|>{"query":"history of the rate"}<|call|>',
  ' to=browser.open<|channel|>analysis code<|message|>{"cursor":0,"id":0}<|call|>',
  "<|channel|>analysis<|message|>Now I draw them.<|end|><|start|>assistant" +
    ` to=python<|channel|>analysis code<|message|>${CODE}<|call|>`,
  "<|channel|>final<|message|>The rate is 0.5%【2†L4】, up from 0.25%.<|return|>",
];

interface Recording {
  /** A line for each thing that the client got, in order. */
  readonly lines: readonly string[];
  readonly files: readonly string[];
}

const APIS: readonly {
  name: string;
  client: string;
  record: (app: BrowsingApp) => Promise<Recording>;
}[] = [
  { name: "Responses", client: "openai", record: recordResponses },
  { name: "Chat Completions", client: "openai", record: recordChat },
  { name: "Messages", client: "@anthropic-ai/sdk", record: recordMessages },
];

describe.skipIf(!HAS_PYTHON)(`a whole turn${WITHOUT_PYTHON}`, () => {
  let python: LocalPython;

  beforeAll(() => {
    python = createTestPython({ maxInterpreters: 2, maxInterpretersPerKey: 2 });
  });

  afterAll(() => python.close());

  test("is what tools-session.md says, on all APIs", async () => {
    const sections: string[] = [];
    for (const { name, client, record } of APIS) {
      const app = createBrowsingApp({
        engine: scriptedEngine(SCRIPT, { batch: 4 }),
        toolbox: { browser: BROWSER, python: (options) => createPythonTool(python, options) },
      });
      const { lines, files } = await record(app);
      expect(files).toEqual([CHART]);
      sections.push(
        `## ${name}, by \`${client}\`\n\n${RECORDED}\n\n\`\`\`text\n${lines.join("\n")}\n\`\`\`\n`,
      );
    }
    await expect([INTRODUCTION, ...sections].join("\n")).toMatchFileSnapshot("tools-session.md");
  });

  test("variables stay from one call to the next", async () => {
    const again = " to=python<|channel|>analysis code<|message|>len(rates)<|call|>";
    const { client } = createBrowsingApp({
      engine: scriptedEngine([...SCRIPT.slice(3, 4), again, ...SCRIPT.slice(4)]),
      toolbox: { python: (options) => createPythonTool(python, options) },
    });
    const { output } = await client.responses.create({
      model: MODEL,
      input: QUESTION,
      tools: [{ type: "code_interpreter", container: { type: "auto" } }],
      include: ["code_interpreter_call.outputs"],
    });
    const calls = output.filter((item) => item.type === "code_interpreter_call");
    expect(calls).toMatchObject([
      { code: CODE, outputs: [{ type: "logs" }, { type: "image", url: CHART }] },
      { code: "len(rates)", outputs: [{ type: "logs", logs: "2\n" }] },
    ]);
    expect(calls[0]?.container_id).toBe(calls[1]?.container_id);
  });
});

async function recordResponses({ client }: BrowsingApp): Promise<Recording> {
  const stream = client.responses.stream({
    model: MODEL,
    input: QUESTION,
    tools: [{ type: "web_search" }, { type: "code_interpreter", container: { type: "auto" } }],
    include: ["code_interpreter_call.outputs", "web_search_call.action.sources"],
  });
  const { output } = await stream.finalResponse();
  const files = output.flatMap((item) =>
    item.type === "code_interpreter_call"
      ? (item.outputs ?? []).flatMap((each) => (each.type === "image" ? [each.url] : []))
      : [],
  );
  return { files, lines: output.flatMap((item) => toResponsesLines(item)) };
}

function toResponsesLines(item: OpenAI.Responses.ResponseOutputItem): string[] {
  switch (item.type) {
    case "reasoning":
      return (item.content ?? []).map(({ text }) => `reasoning              ${text}`);
    case "web_search_call":
      return [`web_search_call        ${JSON.stringify(item.action)}`];
    case "code_interpreter_call":
      return [
        ...toCodeLines("code_interpreter_call", item.code ?? ""),
        ...(item.outputs ?? []).map((each) =>
          each.type === "logs"
            ? `  logs                 ${each.logs.trimEnd()}`
            : `  image                ${toSvg(each.url)}`,
        ),
      ];
    case "message":
      return item.content.flatMap((part) =>
        part.type === "output_text"
          ? [
              `output_text            ${part.text}`,
              ...part.annotations.map((each) => `  annotation           ${JSON.stringify(each)}`),
            ]
          : [],
      );
    default:
      return [item.type];
  }
}

const chatDelta = z.looseObject({
  content: z.string().nullish(),
  reasoning: z.string().nullish(),
  executed_tools: z
    .array(
      z.looseObject({
        type: z.string(),
        arguments: z.string(),
        search_results: z
          .object({ results: z.array(z.looseObject({ url: z.string() })) })
          .optional(),
        code_results: z
          .array(z.object({ text: z.string().optional(), png: z.string().optional() }))
          .optional(),
      }),
    )
    .optional(),
  annotations: z.array(z.unknown()).optional(),
});

async function recordChat({ client }: BrowsingApp): Promise<Recording> {
  const params: OpenAI.ChatCompletionCreateParamsStreaming = JSON.parse(
    JSON.stringify({
      model: MODEL,
      messages: [{ role: "user", content: QUESTION }],
      tools: [{ type: "browser_search" }, { type: "code_interpreter" }],
      stream: true,
    }),
  );
  const lines: string[] = [];
  const files: string[] = [];
  let text = "";
  let reasoning = "";
  const annotations: unknown[] = [];
  for await (const { choices } of await client.chat.completions.create(params)) {
    const delta = chatDelta.parse(choices[0]?.delta ?? {});
    text += delta.content ?? "";
    reasoning += delta.reasoning ?? "";
    annotations.push(...(delta.annotations ?? []));
    for (const tool of delta.executed_tools ?? []) {
      if (reasoning.trim() !== "") lines.push(`reasoning              ${reasoning.trim()}`);
      reasoning = "";
      if (tool.code_results === undefined) lines.push(`${tool.type.padEnd(22)} ${tool.arguments}`);
      for (const { url } of tool.search_results?.results ?? []) {
        lines.push(`  result               ${url}`);
      }
      if (tool.code_results) {
        const { code } = z.object({ code: z.string() }).parse(JSON.parse(tool.arguments));
        lines.push(...toCodeLines(tool.type, code));
      }
      for (const { text: logs, png } of tool.code_results ?? []) {
        if (logs !== undefined) lines.push(`  text                 ${logs.trimEnd()}`);
        if (png !== undefined) {
          lines.push(`  png                  ${toSvg(png)}`);
          files.push(png);
        }
      }
    }
  }
  lines.push(`content                ${text}`);
  for (const each of annotations) lines.push(`  annotation           ${JSON.stringify(each)}`);
  return { lines, files };
}

async function recordMessages({ anthropic }: BrowsingApp): Promise<Recording> {
  const stream = anthropic.messages.stream({
    model: MODEL,
    max_tokens: 1000,
    thinking: { type: "adaptive", display: "summarized" },
    messages: [{ role: "user", content: QUESTION }],
    tools: [
      { type: "web_search_20250305", name: "web_search" },
      { type: "code_execution_20250522", name: "code_execution" },
    ],
  });
  const { content } = await stream.finalMessage();
  const files = content.flatMap((block) =>
    block.type === "code_execution_tool_result" && block.content.type === "code_execution_result"
      ? block.content.content.map(({ file_id: id }) => id)
      : [],
  );
  return { files, lines: content.flatMap((block) => toMessagesLines(block)) };
}

function toMessagesLines(block: Anthropic.ContentBlock): string[] {
  switch (block.type) {
    case "thinking":
      return block.thinking === "" ? [] : [`thinking               ${block.thinking}`];
    case "server_tool_use": {
      const { code } = z.looseObject({ code: z.string().optional() }).parse(block.input);
      if (code !== undefined) return toCodeLines(block.name, code);
      return [`${block.name.padEnd(22)} ${JSON.stringify(block.input)}`];
    }
    case "web_search_tool_result":
      return Array.isArray(block.content)
        ? block.content.map(({ url }) => `  web_search_result    ${url}`)
        : [];
    case "web_fetch_tool_result":
      return block.content.type === "web_fetch_result"
        ? [`  web_fetch_result     ${block.content.content.title}`]
        : [];
    case "code_execution_tool_result":
      if (block.content.type !== "code_execution_result") return [];
      return [
        `  stdout               ${block.content.stdout.trimEnd()}`,
        ...block.content.content.map(({ file_id: id }) => `  file_id              ${toSvg(id)}`),
      ];
    case "text":
      return [
        `text                   ${block.text}`,
        ...(block.citations ?? []).map((each) => `  citation             ${JSON.stringify(each)}`),
      ];
    default:
      return [block.type];
  }
}

function toCodeLines(name: string, code: string): string[] {
  return code
    .trimEnd()
    .split("\n")
    .map((line, at) => `${(at === 0 ? name : "").padEnd(22)} ${line}`);
}

/** The contents of a data URL. */
function toSvg(url: string): string {
  return Buffer.from(url.slice(url.indexOf(",") + 1), "base64").toString();
}

const RECORDED = "<!-- not run: recorded by test/node/python/whole-turn.test.ts -->";

const INTRODUCTION = `\
# A turn with the gateway's tools

Released clients got this from one turn: two searches, an opened page, code that draws a chart, and an answer that cites the page.
The model's part was scripted. Search and page come from two sample documents, and the code was run by Pyodide in Deno. Files
are shown decoded; clients get data URLs. A test (\`test/node/python/whole-turn.test.ts\`) runs the turn again and compares
it with this page.
`;
