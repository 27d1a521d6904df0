/**
 * A scripted inference server: vLLM's format on loopback, with faults that can be switched at any time. It answers each
 * prompt with words, one every few milliseconds.
 */
import type { ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { o200kHarmony, SPECIAL_TOKENS, type TokenId } from "../../src/tokenizer/index.ts";
import { startVllmServer, toFrame, type VllmServer } from "../../test/helpers/vllm-server.ts";

/** Faults of the whole server, and of single answers: a prompt that contains `fault cut` gets that one. */
export const FAULTS = [
  "none",
  /** Accepts connections and never answers, not even health checks: like a stopped process. */
  "frozen",
  /** Answers health checks, and no prompt. */
  "mute",
  /** A long time to the first token. */
  "late",
  /** Five times as long for each token. */
  "slow",
  "status-500",
  "status-503",
  "status-429",
  "status-404",
  "status-401",
  /** JSON that is cut off. */
  "bad-frame",
  /** An id that is not a number. */
  "bad-id",
  "error-frame",
  /** The connection breaks in the middle. */
  "cut",
  /** The stream ends in the middle, without an error. */
  "short",
  /** A finish reason without `[DONE]` or an end. */
  "no-done",
  /** Impossible counts. */
  "bad-usage",
] as const;

const { "<|return|>": RETURN, "<|call|>": CALL } = SPECIAL_TOKENS;

/** A prompt that says `steps 3 ` has this tool called so often, before the answer. */
export const STEP_TOOL = "step";

export type Fault = (typeof FAULTS)[number];

export interface ChaosEngine extends VllmServer {
  fault: Fault;
  /** Numbers of the prompts (`number 17`) it has written a token for. */
  readonly begun: Set<number>;
  readonly asked: number;
}

export interface ChaosEngineOptions {
  /** Words of an answer; a prompt may say `words 20`, and `bulk ` to have them as fast as they can be written. */
  readonly words: number;
  readonly tokenMs: number;
}

export async function startChaosEngine(options: ChaosEngineOptions): Promise<ChaosEngine> {
  const begun = new Set<number>();
  let asked = 0;

  const server = await startVllmServer({
    isFrozen: () => engine.fault === "frozen",
    complete(prompt, number, response) {
      asked++;
      if (number === undefined) return writeAnswer(response, [], "none", undefined);
      const fault = FAULTS.find((each) => prompt.includes(`fault ${each} `)) ?? engine.fault;
      const call = nextCall(prompt);
      if (call !== undefined) return writeAnswer(response, call, fault, number, CALL);
      const ids = answerIds(Number(/words (\d+)/.exec(prompt)?.[1] ?? options.words));
      if (prompt.includes("bulk ")) return writeBulk(response, ids, number);
      return writeAnswer(response, ids, fault, number);
    },
  });

  /** At the speed of the reader. */
  async function writeBulk(response: ServerResponse, ids: readonly TokenId[], number: number) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    begun.add(number);
    for (const id of ids) {
      if (response.destroyed) return;
      if (!response.write(toFrame([id], null))) await drained(response);
    }
    response.write(toFrame([RETURN], "stop"));
    response.end("data: [DONE]\n\n");
  }

  async function writeAnswer(
    response: ServerResponse,
    ids: readonly TokenId[],
    fault: Fault,
    number: number | undefined,
    end: TokenId = RETURN,
  ): Promise<void> {
    const status = /^status-(\d+)$/.exec(fault)?.[1];
    if (status !== undefined) {
      response.writeHead(Number(status), { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: "scripted", type: "x", code: 1 } }));
      return;
    }
    if (fault === "mute") return;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.flushHeaders();
    if (fault === "late") await pause(20 * options.tokenMs);
    const middle = Math.floor(ids.length / 2);
    for (const [at, id] of ids.entries()) {
      await pause(
        engine.fault === "slow" || fault === "slow" ? 5 * options.tokenMs : options.tokenMs,
      );
      if (response.destroyed || engine.fault === "frozen") return;
      if (at === middle && breaks(response, fault)) return;
      if (number !== undefined) begun.add(number);
      response.write(toFrame([id], null));
    }
    response.write(toFrame([end], "stop"));
    if (fault === "no-done") return;
    if (fault === "bad-usage") response.write(USAGE_FRAME);
    response.end("data: [DONE]\n\n");
  }

  const engine: ChaosEngine = {
    url: server.url,
    fault: "none",
    begun,
    get isUp() {
      return server.isUp;
    },
    get open() {
      return server.open;
    },
    get asked() {
      return asked;
    },
    kill: () => server.kill(),
    revive: () => server.revive(),
  };
  return engine;
}

/** Resolves when there is demand again, or the reader has disconnected. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      response.off("drain", settle).off("close", settle);
      resolve();
    };
    response.on("drain", settle).on("close", settle);
  });
}

/** Whether this ends the answer. */
function breaks(response: ServerResponse, fault: Fault): boolean {
  switch (fault) {
    case "bad-frame":
      response.end('data: {"choices":[{"index":0,"token_ids":[13225\n\n');
      return true;
    case "bad-id":
      response.end('data: {"choices":[{"index":0,"text":"","token_ids":["x"]}]}\n\n');
      return true;
    case "error-frame":
      response.end(
        'data: {"error":{"message":"scripted","type":"InternalServerError","code":500}}\n\n',
      );
      return true;
    case "cut":
      response.destroy();
      return true;
    case "short":
      response.end();
      return true;
    default:
      return false;
  }
}

const USAGE_FRAME =
  'data: {"choices":[],"usage":{"prompt_tokens":-5,"completion_tokens":1e18,"total_tokens":-1}}\n\n';

/** The words of an answer: `word0 word1 …`, so that a client can detect missing ones. */
export function answerText(words: number): string {
  return Array.from({ length: words }, (_, n) => ` word${n}`).join("");
}

/** The ids of the call that comes next, without its end. */
function nextCall(prompt: string): readonly TokenId[] | undefined {
  const steps = Number(/steps (\d+) /.exec(prompt)?.[1] ?? 0);
  const done = prompt.match(/<\|start\|>functions\.step to=assistant/g)?.length ?? 0;
  if (done >= steps) return undefined;
  const { "<|channel|>": channel, "<|message|>": message } = SPECIAL_TOKENS;
  const { "<|start|>": start, "<|end|>": end, "<|constrain|>": constrain } = SPECIAL_TOKENS;
  const encode = (text: string) => o200kHarmony().encode(text);
  return [
    channel,
    ...encode("analysis"),
    message,
    ...encode(`Step ${done + 1}.`),
    end,
    start,
    ...encode("assistant"),
    channel,
    ...encode(`commentary to=functions.${STEP_TOOL} `),
    constrain,
    ...encode("json"),
    message,
    ...encode(JSON.stringify({ n: done + 1 })),
  ];
}

const answers = new Map<number, readonly TokenId[]>();

function answerIds(words: number): readonly TokenId[] {
  let ids = answers.get(words);
  if (ids === undefined) {
    const { "<|channel|>": channel, "<|message|>": message } = SPECIAL_TOKENS;
    const tokenizer = o200kHarmony();
    const text = tokenizer.encode(answerText(words));
    ids = [channel, ...tokenizer.encode("final"), message, ...text];
    answers.set(words, ids);
  }
  return ids;
}
