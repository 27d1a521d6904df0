/**
 * Measures the cost of a request by the size of its conversation and the number of its tools: CPU of the whole process
 * over sockets, beside the pipe that forwards the same bytes.
 */
import { cpuMs } from "../child.ts";
import { type Measured, toMeasured } from "../statistics.ts";
import { fillIn, planCompletion } from "../streaming/completion.ts";
import { CONTENDERS, type Running, startContender } from "../streaming/contenders.ts";
import { createRequest, MODEL } from "../streaming/requests.ts";
import { Rig } from "../streaming/rig.ts";
import { TOOLS } from "./table.ts";
import { createConversation, createTools, type Message, prose } from "../text/conversations.ts";

export interface SizesOptions {
  readonly rounds: number;
  /** In each round's processes. */
  readonly passes: number;
  readonly onProgress: (line: string) => void;
}

export interface SizeRow {
  readonly tokens: number;
  readonly tools: number;
  /** µs of CPU of the gateway for a conversation that it has not seen. */
  readonly first: Measured;
  /** µs of CPU of the gateway for the next turn: the conversation, the model's answer and a question. */
  readonly next: Measured;
  /** µs of CPU of the pipe, for the bytes of `next`. */
  readonly pipe: Measured;
}

const TOKENS = [1000, 3000, 10_000, 30_000, 100_000];
/** Total tokens of the conversations of one size in a pass, high enough for the scheduler's clock. */
const TOKENS_PER_PASS = 300_000;
const TOKENS_PER_TOOL = 100;
const ANSWER_TOKENS = 4;

type Cell = Record<"first" | "next" | "pipe", number[]>;

export async function runSizes(options: SizesOptions): Promise<SizeRow[]> {
  const { rounds, passes, onProgress } = options;
  const cells = TOKENS.flatMap((tokens) =>
    TOOLS.map((tools) => ({ tokens, tools, ...emptyCell() })),
  );
  const rig = await Rig.start();
  try {
    await rig.script({ mode: "bulk", shape: "answer", tokens: ANSWER_TOKENS });
    for (let round = 0; round < rounds; round++) {
      const gateway = await start("gateway", rig.enginePort);
      const pipe = await start("hono-pipe", rig.enginePort);
      try {
        // The pass before the first one is not counted: the compiler works on new code.
        for (let pass = -1; pass < passes; pass++) {
          for (const [at, cell] of cells.entries()) {
            onProgress(
              `sizes, processes ${round + 1}/${rounds}: ${cell.tokens} tokens, ${cell.tools} tools`,
            );
            const seed = ((round * (passes + 1) + pass + 2) * cells.length + at) * 1000;
            await measure(rig, gateway, pipe, pass < 0 ? { ...cell, ...emptyCell() } : cell, seed);
          }
        }
      } finally {
        await Promise.all([gateway.stop(), pipe.stop()]);
      }
    }
  } finally {
    await rig.stop();
  }
  return cells.map(({ tokens, tools, first, next, pipe }) => ({
    tokens,
    tools,
    first: toMeasured(first, passes),
    next: toMeasured(next, passes),
    pipe: toMeasured(pipe, passes),
  }));
}

async function measure(
  rig: Rig,
  gateway: Running,
  pipe: Running,
  {
    tokens,
    tools,
    first,
    next,
    pipe: piped,
  }: Cell & { readonly tokens: number; readonly tools: number },
  seed: number,
): Promise<void> {
  const size = tokens + tools * TOKENS_PER_TOOL;
  const conversations = Array.from(
    { length: Math.max(4, Math.min(40, Math.round(TOKENS_PER_PASS / size))) },
    (_, at) => ({
      messages: createConversation(tokens, seed + at),
      tools: createTools(tools, seed + at),
    }),
  );
  const turns = conversations.map(({ messages, tools: offered }) => toBody(messages, offered));
  const nextTurns = conversations.map(({ messages, tools: offered }, at) =>
    toBody(
      [
        ...messages,
        { role: "assistant", content: ANSWER },
        { role: "user", content: prose(200, seed + at + 500) },
      ],
      offered,
    ),
  );
  first.push(await cpuPerRequest(rig, gateway, turns));
  next.push(await cpuPerRequest(rig, gateway, nextTurns));
  piped.push(await cpuPerRequest(rig, pipe, nextTurns));
}

/** The engine's answer, in the form that a client sends back. */
const ANSWER = fillIn(planCompletion("answer", ANSWER_TOKENS))
  .slice(-ANSWER_TOKENS)
  .map(({ text }) => text)
  .join("");

/** Measures in µs. The requests follow each other on one connection. */
async function cpuPerRequest(
  rig: Rig,
  running: Running,
  bodies: readonly string[],
): Promise<number> {
  const { path } = createRequest(running.contender.wire);
  const pid = running.pid ?? NaN;
  const before = cpuMs(pid);
  await rig.ask(
    running,
    bodies.map((body) => ({ path, body })),
  );
  return ((cpuMs(pid) - before) / bodies.length) * 1000;
}

async function start(name: string, enginePort: number): Promise<Running> {
  const contender = CONTENDERS.find((each) => each.name === name);
  if (contender === undefined) throw new RangeError(name);
  return startContender(contender, enginePort);
}

function toBody(messages: readonly Message[], tools: readonly object[]): string {
  return JSON.stringify({
    model: MODEL,
    stream: true,
    messages,
    ...(tools.length > 0 && { tools }),
  });
}

function emptyCell(): Cell {
  return { first: [], next: [], pipe: [] };
}
