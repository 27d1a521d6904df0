/** Serves any engine in vLLM's wire format, for gateways that run in workerd or in another process. */
import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import {
  type CompletionRequest,
  type Engine,
  EngineError,
  type EngineErrorKind,
  type EngineEvent,
} from "../../src/index.ts";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import { type FakeExchange, startFakeUpstream } from "./fake-upstream.ts";
import { promptOf } from "./spelled.ts";
import { structuredOutputs, toVllmLogprobs } from "./vllm-server.ts";

export interface EngineServer {
  readonly url: string;
  /** Completions in flight. */
  readonly open: number;
  /** Whether the engine has refused a completion or failed in one. */
  readonly hasFailed: boolean;
  /** Answers with another engine from now on, which has not failed. */
  serve(engine: Engine): void;
  close(): Promise<void>;
}

const MODEL = "openai/gpt-oss-20b";
const CONTEXT_LENGTH = 131_072;
/** The id of `<|return|>`, which ends a probe. */
const RETURN = 200_002;

/** @param model the served name. */
export async function startEngineServer(engine: Engine, model = MODEL): Promise<EngineServer> {
  let served = engine;
  let open = 0;
  let hasFailed = false;
  const upstream = await startFakeUpstream(async (exchange) => {
    if (exchange.path === "/v1/completions") {
      open += 1;
      if (!(await complete(exchange, served))) hasFailed = true;
      open -= 1;
      return;
    }
    const models = { data: [{ id: model, max_model_len: CONTEXT_LENGTH }] };
    exchange.reply(200, JSON.stringify(exchange.path === "/v1/models" ? models : { version: "0" }));
  });
  return {
    url: upstream.url,
    get open() {
      return open;
    },
    get hasFailed() {
      return hasFailed;
    },
    serve(other) {
      served = other;
      hasFailed = false;
    },
    close: () => upstream.close(),
  };
}

/** Resolves when the completion has ended: false if the engine has failed. */
async function complete(exchange: FakeExchange, engine: Engine): Promise<boolean> {
  const request = toRequest(exchange.body);
  // The gateway's probe requests one token after its own prompt.
  if (!o200kHarmony().decode(request.prompt.ids).startsWith("<|start|>system")) {
    exchange.begin();
    exchange.end(toFrames({ type: "ids", ids: [RETURN] }) + END + DONE);
    return true;
  }
  const left = new AbortController();
  void exchange.closed.then(() => left.abort(new Error("the gateway has left")));
  let begun = false;
  try {
    for await (const event of engine.complete(request, left.signal)) {
      if (!begun) exchange.begin();
      begun = true;
      const frames = toFrames(event);
      if (frames === "") continue;
      // A gateway that has disconnected never makes room.
      await Promise.race([exchange.writeWhenRead(frames), exchange.closed]);
    }
    exchange.end(DONE);
    return true;
  } catch (error) {
    if (left.signal.aborted) return true;
    if (!begun) {
      refuse(exchange, error);
      return false;
    }
    // Written data must arrive before the connection breaks.
    await setTimeout(50);
    exchange.destroy();
    return false;
  }
}

const DONE = "data: [DONE]\n\n";
const END = frame({ choices: [{ index: 0, text: "", token_ids: [], finish_reason: "stop" }] });

const body = z.looseObject({
  temperature: z.number(),
  top_p: z.number(),
  top_k: z.number(),
  min_p: z.number(),
  frequency_penalty: z.number(),
  presence_penalty: z.number(),
  repetition_penalty: z.number(),
  seed: z.number().optional(),
  /** The gateway may ban special tokens, which clients may not name. */
  logit_bias: z.record(z.string(), z.number()).optional(),
  prompt: z.array(z.number()),
  max_tokens: z.number(),
  stop_token_ids: z.array(z.number()),
  logprobs: z.number().optional(),
  cache_salt: z.string().optional(),
  request_id: z.string(),
  structured_outputs: structuredOutputs,
});

/** Converts a request of `vllm.ts` back to the engine's request. */
function toRequest(text: string): CompletionRequest {
  const { logit_bias: bias, seed, ...sent } = body.parse(JSON.parse(text));
  const constraint = sent.structured_outputs;
  return {
    prompt: promptOf(sent.prompt),
    maxTokens: sent.max_tokens,
    sampling: {
      temperature: sent.temperature,
      topP: sent.top_p,
      // vLLM turns top-k off by -1.
      topK: Math.max(sent.top_k, 0),
      minP: sent.min_p,
      frequencyPenalty: sent.frequency_penalty,
      presencePenalty: sent.presence_penalty,
      repetitionPenalty: sent.repetition_penalty,
      ...(seed !== undefined && { seed }),
      ...(bias && {
        logitBias: new Map(Object.entries(bias).map(([id, value]) => [Number(id), value])),
      }),
    },
    stopIds: sent.stop_token_ids,
    requestId: sent.request_id,
    ...(constraint !== undefined && { constraint }),
    ...(sent.logprobs !== undefined && { topLogprobs: sent.logprobs }),
    ...(sent.cache_salt !== undefined && { cacheSalt: sent.cache_salt }),
  };
}

function toFrames(event: EngineEvent): string {
  switch (event.type) {
    case "open":
    case "progress":
      return "";
    case "ids":
      return frame({ choices: [toChoice(event)] });
    case "finish":
      return (
        frame({ choices: [{ index: 0, text: "", token_ids: [], finish_reason: event.reason }] }) +
        frame({
          choices: [],
          usage: {
            prompt_tokens: event.usage?.promptTokens,
            completion_tokens: event.usage?.completionTokens,
            prompt_tokens_details: { cached_tokens: event.usage?.cachedTokens },
          },
        })
      );
    case "pieces":
    case "text":
      throw new Error(`an engine that gives ${event.type} cannot be served as vLLM`);
    default:
      return event satisfies never;
  }
}

function toChoice({ ids, logprobs }: Extract<EngineEvent, { type: "ids" }>) {
  return {
    index: 0,
    text: "",
    token_ids: ids,
    finish_reason: null,
    ...(logprobs && { logprobs: toVllmLogprobs(logprobs) }),
  };
}

function frame(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

/** The status by which the gateway recognizes the kind; `closed` and `unreachable` have none. */
const STATUS: Partial<Readonly<Record<EngineErrorKind, number>>> = {
  timeout: 504,
  overloaded: 503,
  "rate-limit": 429,
  auth: 401,
  "not-found": 404,
  "context-length": 400,
  "bad-request": 400,
  "server-error": 500,
};

function refuse(exchange: FakeExchange, error: unknown): void {
  const { kind, message, retryAfter } =
    error instanceof EngineError ? error : new EngineError("server-error", String(error));
  const status = STATUS[kind];
  if (status === undefined) return exchange.destroy();
  const complaint = kind === "context-length" ? "maximum context length exceeded" : message;
  exchange.reply(status, JSON.stringify({ error: { message: complaint } }), {
    "content-type": "application/json",
    ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
  });
}
