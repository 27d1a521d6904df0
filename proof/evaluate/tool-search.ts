/**
 * Measures the search for deferred tools: the share of requested tools among its first five, and what a prompt costs
 * with and without it.
 *
 * `node proof/evaluate/tool-search.ts TOOLS QUESTIONS`: a JSON file with the tools of MCP servers, as `tools/list` returns them, and
 * one with questions by tool name.
 */
import { readFileSync } from "node:fs";
import * as z from "zod";
import { appOf } from "../../test/helpers/app.ts";
import { testSettings } from "../../test/helpers/gateway.ts";
import { type ScriptedEngine, scriptedEngine } from "../../test/helpers/scripted-engine.ts";

const MODEL = "openai/gpt-oss-20b";
const HEADER = "<|channel|>commentary <|constrain|>json<|message|>";
const ANSWER = "<|channel|>final<|message|>Done.<|return|>";

const tools = z
  .array(
    z.object({
      name: z.string(),
      description: z.string().default(""),
      inputSchema: z.record(z.string(), z.unknown()),
    }),
  )
  .parse(readJson(process.argv[2]));
const questions = Object.entries(z.record(z.string(), z.string()).parse(readJson(process.argv[3])));

const shown = await play(questions[0] ?? ["", ""], false);
const found: string[] = [];
const missed: string[] = [];
let last = 0;
let first = 0;
for (const question of questions) {
  const [name] = question;
  const played = await play(question, true);
  first = lengthAt(played, 0);
  last += lengthAt(played, -1);
  const result = played.prompts.at(-1)?.match(/Tools found: ([^<]*)/)?.[1] ?? "";
  (result.split(", ").includes(`functions.${name}`) ? found : missed).push(name);
}
process.stdout.write(
  `${tools.length} tools, ${questions.length} questions\n` +
    `found among the first five: ${found.length}\nmissed: ${missed.join(", ")}\n` +
    `tokens of the first prompt: ${first} with a search, ${lengthAt(shown, 0)} without\n` +
    `of the last prompt of the loop: ${Math.round(last / questions.length)} and ${lengthAt(shown, -1)}\n`,
);

/** A loop of one call, before which the model searches with the question's words if tools are deferred. */
async function play(
  [name, question]: [string, string],
  isDeferred: boolean,
): Promise<ScriptedEngine> {
  const search = ` to=functions.tool_search${HEADER}${JSON.stringify({ query: question })}<|call|>`;
  const call = ` to=functions.${name}${HEADER}{}<|call|>`;
  const engine = scriptedEngine([...(isDeferred ? [search] : []), call, ANSWER], { batch: 64 });
  const app = appOf(testSettings({}), [{ id: MODEL, engine, layout: "guide" }], { toolbox: {} });
  const messages: unknown[] = [{ role: "user", content: question }];
  const body = {
    model: MODEL,
    messages,
    tools: [
      ...(isDeferred ? [{ type: "openrouter:tool_search" }] : []),
      ...tools.map(({ inputSchema: parameters, ...tool }) => ({
        type: "function",
        function: { ...tool, parameters },
        defer_loading: isDeferred,
      })),
    ],
  };
  const reply = await post(app, body);
  messages.push(reply, { role: "tool", tool_call_id: reply.tool_calls[0]?.id, content: "ok" });
  await post(app, body);
  return engine;
}

async function post(app: ReturnType<typeof appOf>, body: unknown) {
  const response = await app.request("http://localhost/v1/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const message = z.looseObject({
    tool_calls: z.array(z.looseObject({ id: z.string() })).default([]),
  });
  const choices = z.tuple([z.object({ message })]);
  return z.object({ choices }).parse(await response.json()).choices[0].message;
}

function lengthAt({ requests }: ScriptedEngine, index: number): number {
  return requests.at(index)?.prompt.ids.length ?? 0;
}

function readJson(path = ""): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}
