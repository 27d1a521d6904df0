/**
 * Measures the cached part of each prompt in a tool loop, by the server's own count: with restored ids, with the form
 * of the call alone, and rendered without either.
 *
 *     node proof/real/scorecard/loop-cache.ts --state FOLDER --engine vllm --url http://127.0.0.1:18000
 *
 * The server must have been started by serve.sh with the same folder, and with gpt-oss' window (README.md).
 */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import * as z from "zod";
import { type GatewayProcess, startGatewayProcess } from "../../../test/helpers/gateway-process.ts";
import { spelledIds } from "../../../test/helpers/spelled.ts";
import { type ChatMessage, readChatMessage } from "../../../test/helpers/replies.ts";
import { forgetful } from "../../../test/helpers/tool-loop.ts";
import { waitUntilReady } from "./client.ts";

const { values } = parseArgs({
  options: { state: { type: "string" }, engine: { type: "string" }, url: { type: "string" } },
});
const { state, engine, url } = values;
if (state === undefined || engine === undefined || url === undefined) {
  throw new Error("usage: loop-cache.ts --state FOLDER --engine vllm|llama-cpp --url URL");
}
const script = join(state, "script.txt");
const server = ["--engine", engine, "--url", url];

/**
 * The client forgets the reasoning and prints arguments again where ids are put back. Elsewhere it sends back all as it was: else
 * nothing of a step could be the same.
 */
interface Mode {
  readonly name: string;
  readonly args: readonly string[];
  readonly remember: (reply: ChatMessage) => object;
}
const NO_STORE = ["--store-max-bytes", "1"];
const MODES: readonly Mode[] = [
  { name: "ids", args: [], remember: (reply) => forgetful(printAgain(reply)) },
  { name: "form", args: NO_STORE, remember: (reply) => reply },
  {
    name: "neither",
    args: [...NO_STORE, "--layout", "reference"],
    remember: renameCalls,
  },
];

/** Headers in gpt-oss's forms, mostly the first. `F`: the function. */
const HEADERS = [
  "<|channel|>commentary to=F <|constrain|>json",
  "<|channel|>commentary to=F <|constrain|>json",
  "<|channel|>analysis to=F code",
];
const STEPS = 9;
/** The step that writes a whole file. */
const LONG_STEP = 5;
const TOOL = {
  type: "function",
  function: {
    name: "edit",
    parameters: {
      type: "object",
      properties: { path: { type: "string" }, text: { type: "string" } },
    },
  },
};

const reply = z.object({
  usage: z.object({
    prompt_tokens: z.int(),
    prompt_tokens_details: z.object({ cached_tokens: z.int() }),
  }),
});

interface Step {
  readonly prompt: number;
  readonly cached: number;
  readonly exact: string;
}

const columns: Step[][] = [];
for (const mode of MODES) columns.push(await playLoop(mode));
rmSync(script, { force: true });
printTable(columns);

async function playLoop({ name, args, remember }: Mode): Promise<Step[]> {
  // Its probe is to meet the model itself.
  rmSync(script, { force: true });
  const gateway = await startGatewayProcess([...server, ...args]);
  try {
    await waitUntilReady(gateway.baseURL);
    return await play(gateway, name, remember);
  } finally {
    await gateway.stop();
  }
}

async function play({ post }: GatewayProcess, name: string, remember: Mode["remember"]) {
  const steps: Step[] = [];
  // No run finds the prompts of another in the cache.
  const messages: object[] = [{ role: "user", content: `${name} ${Date.now()}: mend the tests.` }];
  for (let step = 0; step <= STEPS; step++) {
    const ids = spelledIds(writeStep(step));
    writeFileSync(script, `${Date.now()}\n${ids.join(" ")}\n`);
    const response = await post({ messages, tools: [TOOL], temperature: 0 });
    const message = await readChatMessage(response.clone());
    const { usage } = reply.parse(await response.json());
    steps.push({
      prompt: usage.prompt_tokens,
      cached: usage.prompt_tokens_details.cached_tokens,
      exact: response.headers.get("x-harmony-exact") ?? "",
    });
    const [call] = message.tool_calls ?? [];
    if (call === undefined) break;
    const remembered = remember({ ...message, tool_calls: [call] });
    messages.push(remembered);
    messages.push({ role: "tool", tool_call_id: callIdOf(remembered), content: resultOf(step) });
  }
  if (steps.length !== STEPS + 1) throw new Error(`the loop ended after ${steps.length} steps`);
  return steps;
}

function writeStep(step: number): string {
  const thought = `The test of part ${step} fails because the count begins at one. `.repeat(3);
  const analysis = `<|channel|>analysis<|message|>${thought}<|end|><|start|>assistant`;
  if (step === STEPS) return `${analysis}<|channel|>final<|message|>Done.<|return|>`;
  const header = HEADERS[step % HEADERS.length]?.replace("F", "functions.edit");
  const text = `count = ${step}\nreturn count\n`.repeat(step === LONG_STEP ? 60 : 3);
  const args = `{"path": "src/part_${step}.py", "text": ${JSON.stringify(text)}}`;
  // Most calls of gpt-oss end with a line break.
  return `${analysis}${header}<|message|>${args}${step % 2 === 0 ? "\n" : ""}<|call|>`;
}

function resultOf(step: number): string {
  return `${step} of ${STEPS} tests pass; the count of the next is still wrong. `.repeat(12);
}

function printAgain(message: ChatMessage): ChatMessage {
  const calls = message.tool_calls?.map((call) => ({
    ...call,
    function: {
      ...call.function,
      arguments: JSON.stringify(JSON.parse(call.function.arguments)),
    },
  }));
  return { ...message, ...(calls && { tool_calls: calls }) };
}

/** Renames calls like clients with their own ids: the form is lost with the id. */
function renameCalls(message: ChatMessage): ChatMessage {
  const calls = message.tool_calls?.map((call) => ({ ...call, id: `toolu_${call.id.slice(-12)}` }));
  return { ...message, ...(calls && { tool_calls: calls }) };
}

function callIdOf(message: object): string {
  return z.object({ tool_calls: z.tuple([z.object({ id: z.string() })]) }).parse(message)
    .tool_calls[0].id;
}

function printTable(all: readonly (readonly Step[])[]): void {
  const titles = MODES.map(({ name }) => `${name}: prompt | cached | x-harmony-exact`);
  console.log(`| step | ${titles.join(" | ")} |`);
  console.log(`| --- |${" --- | --- | --- |".repeat(MODES.length)}`);
  for (let step = 0; step <= STEPS; step++) {
    const cells = all.map((steps) => {
      const { prompt, cached, exact } = steps[step] ?? { prompt: 0, cached: 0, exact: "" };
      return `${prompt} | ${cached} | ${exact}`;
    });
    console.log(`| ${step + 1} | ${cells.join(" | ")} |`);
  }
  // The first prompt is new in any case.
  const read = all.map((steps) =>
    steps.slice(1).reduce((sum, { prompt, cached }) => sum + prompt - cached, 0),
  );
  console.log(`| read | ${read.map((tokens) => `${tokens} | | `).join("| ")}|`);
}
