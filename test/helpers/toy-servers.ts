/** The toy behind the wire format of each kind of server, as used by the gateway's adapters. */
import { type CompletionRequest, createEngine, type EngineKind } from "../../src/index.ts";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text as readText } from "node:stream/consumers";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { o200kHarmony, isSpecial, type TokenId } from "../../src/tokenizer/index.ts";
import { listenAnywhere } from "./listen.ts";
import { NEUTRAL_SAMPLING } from "./spelled.ts";
import {
  type CachedIds,
  countCached,
  type Defect,
  toLogprobs,
  toyRequest,
  writeToy,
} from "./toy-engine.ts";
import { structuredOutputs, toVllmLogprobs } from "./vllm-server.ts";

type Constraint = NonNullable<CompletionRequest["constraint"]>;
type Sampling = CompletionRequest["sampling"];

/** Kinds of engines reached over HTTP. */
export type ServerKind = Exclude<EngineKind, "demo" | "llama">;

export const TOY_MODEL = "openai/gpt-oss-20b";

export interface ToyServer {
  readonly url: string;
  close(): Promise<void>;
}

export interface ToyServerOptions {
  readonly kind: ServerKind;
  readonly defect?: Defect;
}

/** Time for which a buffering server collects output. */
const BUFFER_MS = 700;
/** Tokens that no buffer would hold back. */
const SHORT = 32;

interface Body {
  readonly [field: string]: unknown;
}

/** Converts requests and tokens for one wire format. */
interface Wire {
  readonly path: string;
  readonly contentType?: string;
  read(body: Body): CompletionRequest;
  /** `text`: the tokens as text. `last`: adds the reason of the end. */
  frame(tokens: FrameTokens): object;
  end(usage: Usage): readonly object[];
  readonly separator?: "lines";
  readonly closing?: string;
}

interface FrameTokens {
  readonly ids: readonly TokenId[];
  readonly text: string;
  readonly request: CompletionRequest;
  /** Number of the completion's tokens so far. */
  readonly count: number;
  readonly showsIds: boolean;
}

interface Usage {
  readonly prompt: number;
  readonly completion: number;
  readonly cached: number;
  readonly reason: "stop" | "length";
  readonly request: CompletionRequest;
}

export async function startToyServer({ kind, defect }: ToyServerOptions): Promise<ToyServer> {
  const wire = WIRES[kind];
  const { capabilities } = createEngine(kind, { url: "http://toy", model: TOY_MODEL });
  const gauge = kind === "sglang" ? "sglang:num_running_reqs" : "vllm:num_requests_running";
  const seen: CachedIds[] = [];
  let running = 0;
  let slot: Promise<void> = Promise.resolve();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "/", "http://toy");
    const body: Body = JSON.parse((await readText(request)) || "{}");
    if (pathname === wire.path) {
      running += 1;
      const release = defect === "kept-slots" ? await takeSlot() : () => {};
      await complete(body, response).finally(() => (running -= 1));
      if (response.writableEnded) release();
      return;
    }
    if (pathname === "/metrics") return void response.end(metrics());
    const document = describe(pathname, body);
    response.writeHead(document === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(document ?? { error: { message: "Not Found", code: 404 } }));
  }

  /** The only slot. Released only after a completion that was read to its end. */
  async function takeSlot(): Promise<() => void> {
    const before = slot;
    const next = Promise.withResolvers<void>();
    slot = next.promise;
    await before;
    return next.resolve;
  }

  function metrics(): string {
    return `# TYPE ${gauge} gauge\n${gauge}{model="toy"} ${running}\n`;
  }

  function describe(path: string, body: Body): object | undefined {
    if (path === "/tokenize") return tokenize(String(body["prompt"] ?? body["content"]));
    if (path === "/slots" && kind === "llama-cpp") {
      return Array.from({ length: 4 }, (_, id) => ({ id, is_processing: id < running }));
    }
    return DOCUMENTS[kind][path];
  }

  function tokenize(text: string): object | undefined {
    if (!TOKENIZING.has(kind)) return undefined;
    const ids =
      defect === "wrong-specials"
        ? o200kHarmony().encode(text)
        : toyRequest(text, NEUTRAL).prompt.ids;
    return { count: ids.length, tokens: ids };
  }

  async function complete(body: Body, response: ServerResponse): Promise<void> {
    const request = wire.read(body);
    const { ids, reason } = await writeToy(request, defect);
    const cached = countCached(request, ids, { seen, defect });
    response.writeHead(200, { "content-type": wire.contentType ?? "text/event-stream" });
    const write = (frames: readonly object[]) =>
      frames
        .map((each) => JSON.stringify(each))
        .map((json) => (wire.separator === "lines" ? `${json}\n` : `data: ${json}\n\n`))
        .join("");
    const hidesEnd = reason === "stop" && (defect === "hidden-stop" || !capabilities.stopIdVisible);
    const shown = hidesEnd ? ids.slice(0, -1) : ids;
    const decoder = o200kHarmony().createDecoder();
    const hidesMarkers = defect === "no-ids" && !capabilities.idsIn;
    let held = "";
    for (const [index, id] of shown.entries()) {
      const marker = isSpecial(id) ? (hidesMarkers ? "" : o200kHarmony().decode([id])) : "";
      const text = isSpecial(id) ? decoder.end() + marker : decoder.push(id);
      held += write([
        wire.frame({ ids: [id], text, request, count: index + 1, showsIds: defect !== "no-ids" }),
      ]);
      if (defect === "buffered") continue;
      // Frames arrive one by one.
      await nextTurn();
      if (response.destroyed) return;
      response.write(held);
      held = "";
    }
    if (defect === "buffered" && shown.length > SHORT) await pause(BUFFER_MS);
    const prompt = countPrompt(request);
    const usage: Usage = { prompt, completion: ids.length, cached, reason, request };
    response.end(held + write(wire.end(usage)) + (wire.closing ?? ""));
  }

  /** A server of text that does not know control tokens reads their spelling. */
  function countPrompt({ prompt }: CompletionRequest): number {
    const spellsOut = defect === "wrong-specials" && !capabilities.idsIn;
    return spellsOut ? o200kHarmony().encode(prompt.text()).length : prompt.ids.length;
  }

  const server = createServer((request, response) => {
    response.on("error", () => {});
    void answer(request, response);
  });
  const port = await listenAnywhere(server);
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
  };
}

const NEUTRAL = {
  maxTokens: 1,
  sampling: { ...NEUTRAL_SAMPLING, temperature: 0 },
};

/** Kinds of servers with the endpoint `/tokenize`. */
const TOKENIZING: ReadonlySet<ServerKind> = new Set(["vllm", "sglang", "llama-cpp"]);

const MODELS = { object: "list", data: [{ id: TOY_MODEL, max_model_len: 131_072 }] };

const DOCUMENTS: Readonly<Record<ServerKind, Readonly<Record<string, object>>>> = {
  vllm: { "/v1/models": MODELS, "/version": { version: "0.14.1" }, "/health": {} },
  sglang: { "/v1/models": MODELS, "/get_server_info": { version: "0.6.0" }, "/health": {} },
  "llama-cpp": {
    "/v1/models": MODELS,
    "/props": { default_generation_settings: { n_ctx: 131_072 }, build_info: "b10574" },
    "/health": { status: "ok" },
  },
  trtllm: { "/v1/models": MODELS, "/version": { version: "1.3.0" }, "/health": {} },
  fireworks: { "/v1/models": MODELS },
  completions: { "/v1/models": MODELS },
  ollama: {
    "/api/tags": { models: [{ name: `${TOY_MODEL}:latest` }] },
    "/api/show": { model_info: { "gptoss.context_length": 131_072 } },
    "/api/version": { version: "0.12.0" },
  },
};

const numberField = z.coerce.number().catch(0);

function readSampling(body: Body, names: Partial<Record<keyof Sampling, string>> = {}): Sampling {
  const number = (name: string) => numberField.parse(body[name]);
  const seed = body[names.seed ?? "seed"];
  return {
    ...NEUTRAL.sampling,
    temperature: number("temperature"),
    topK: Math.max(0, number("top_k")),
    ...(typeof seed === "number" && { seed }),
    logitBias: readBias(body["logit_bias"]),
  };
}

/** `{"7": 100}` or `[[7, 100]]`. */
function readBias(given: unknown): Map<TokenId, number> {
  const pairs = Array.isArray(given) ? given : Object.entries(given ?? {});
  return new Map(pairs.map(([id, bias]) => [Number(id), bias === false ? -100 : Number(bias)]));
}

const idList = z.array(z.number());
const stops = idList.catch([]);

function first(...constraints: (Constraint | undefined)[]): { constraint?: Constraint } {
  const constraint = constraints.find((each) => each !== undefined);
  return constraint === undefined ? {} : { constraint };
}

const text = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);

/** `response_format` in the spellings of TensorRT-LLM and Fireworks. */
function readFormat(given: unknown): { constraint?: Constraint } {
  const format = z.record(z.string(), z.unknown()).catch({}).parse(given);
  const schema = z.looseObject({ schema: z.unknown() }).safeParse(format["json_schema"]);
  switch (format["type"]) {
    case "json":
      return { constraint: { type: "json-schema", schema: text(format["schema"]) } };
    case "json_schema":
      return { constraint: { type: "json-schema", schema: text(schema.data?.schema) } };
    case "json_object":
      return { constraint: { type: "json-object" } };
    case "structural_tag":
      return { constraint: { type: "structural-tag", tag: text(format) } };
    case "regex":
      return { constraint: { type: "regex", pattern: text(format) } };
    case "ebnf":
    case "grammar":
      return { constraint: toGrammar(text(format["ebnf"] ?? format["grammar"])) };
    default:
      return {};
  }
}

/** A choice is sent as a grammar of texts. */
function toGrammar(grammar: string): Constraint {
  const options = /^root ::= ("(?:[^"\\]|\\.)*"(?: \| "(?:[^"\\]|\\.)*")*)$/.exec(grammar)?.[1];
  if (options === undefined) return { type: "grammar", grammar };
  const texts = options.match(/"(?:[^"\\]|\\.)*"/g) ?? [];
  return { type: "choice", options: texts.map((each) => String(JSON.parse(each))) };
}

function toUsage({ prompt, completion, cached }: Usage): object {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    prompt_tokens_details: { cached_tokens: cached },
  };
}

function toChoice(choice: object): object {
  return { choices: [{ index: 0, text: "", finish_reason: null, ...choice }] };
}

/** `/v1/completions` with ids in and out. */
function completionsWire(readConstraint: (body: Body) => { constraint?: Constraint }): Wire {
  return {
    path: "/v1/completions",
    read: (body) =>
      toyRequest(z.union([idList, z.string()]).parse(body["prompt"]), {
        maxTokens: numberField.parse(body["max_tokens"]),
        sampling: readSampling(body),
        stopIds: stops.parse(body["stop_token_ids"]),
        ...readConstraint(body),
        ...(typeof body["logprobs"] === "number" && { topLogprobs: body["logprobs"] }),
        ...(typeof body["cache_salt"] === "string" && { cacheSalt: body["cache_salt"] }),
        ...(typeof body["prompt_cache_isolation_key"] === "string" && {
          cacheSalt: body["prompt_cache_isolation_key"],
        }),
      }),
    frame({ ids, text: shown, request, showsIds }) {
      const { logprobs } = toLogprobs(ids, request.topLogprobs);
      return toChoice({
        text: shown,
        ...(showsIds && { token_ids: ids }),
        ...(logprobs && { logprobs: toVllmLogprobs(logprobs) }),
      });
    },
    end: (usage) => [{ ...toChoice({ finish_reason: usage.reason }), usage: toUsage(usage) }],
    closing: "data: [DONE]\n\n",
  };
}

const WIRES: Readonly<Record<ServerKind, Wire>> = {
  vllm: completionsWire((body) => first(structuredOutputs.parse(body["structured_outputs"]))),
  trtllm: completionsWire((body) => readFormat(body["response_format"])),
  fireworks: completionsWire((body) => readFormat(body["response_format"])),
  completions: {
    ...completionsWire(() => ({})),
    read: (body) =>
      toyRequest(String(body["prompt"]), {
        maxTokens: numberField.parse(body["max_tokens"]),
        sampling: readSampling(body),
      }),
    frame: ({ text: shown }) => toChoice({ text: shown }),
  },
  sglang: {
    path: "/generate",
    read(body) {
      const params = z.record(z.string(), z.unknown()).parse(body["sampling_params"]);
      const { json_schema: schema, ebnf, regex, structural_tag: tag } = params;
      return toyRequest(idList.parse(body["input_ids"]), {
        maxTokens: numberField.parse(params["max_new_tokens"]),
        sampling: readSampling(params, { seed: "sampling_seed" }),
        stopIds: stops.parse(params["stop_token_ids"]),
        ...first(
          schema === undefined ? undefined : { type: "json-schema", schema: text(schema) },
          ebnf === undefined ? undefined : toGrammar(text(ebnf)),
          regex === undefined ? undefined : { type: "regex", pattern: text(regex) },
          tag === undefined ? undefined : { type: "structural-tag", tag: text(tag) },
        ),
        ...(body["return_logprob"] === true && {
          topLogprobs: numberField.parse(body["top_logprobs_num"]),
        }),
        ...(typeof body["extra_key"] === "string" && { cacheSalt: body["extra_key"] }),
      });
    },
    frame({ ids, text: shown, request, count, showsIds }) {
      const { logprobs } = toLogprobs(ids, request.topLogprobs);
      return {
        text: shown,
        ...(showsIds && { output_ids: ids }),
        meta_info: {
          finish_reason: null,
          completion_tokens: count,
          ...(logprobs && {
            output_token_logprobs: logprobs.map(({ id, logprob }) => [logprob, id, null]),
            output_top_logprobs: logprobs.map(({ top }) =>
              top.map(({ id, logprob }) => [logprob, id, null]),
            ),
          }),
        },
      };
    },
    end: ({ reason, prompt, completion, cached }) => [
      {
        text: "",
        output_ids: [],
        meta_info: {
          finish_reason: { type: reason },
          prompt_tokens: prompt,
          completion_tokens: completion,
          cached_tokens: cached,
        },
      },
    ],
    closing: "data: [DONE]\n\n",
  },
  "llama-cpp": {
    path: "/completion",
    read(body) {
      const { grammar, json_schema: schema } = body;
      return toyRequest(idList.parse(body["prompt"]), {
        maxTokens: numberField.parse(body["n_predict"]),
        sampling: readSampling(body),
        ...first(
          schema === undefined ? undefined : { type: "json-schema", schema: text(schema) },
          typeof grammar !== "string"
            ? undefined
            : grammar.includes("<[")
              ? { type: "token-grammar", grammar }
              : toGrammar(grammar),
        ),
      });
    },
    frame: ({ ids, text: shown, count, showsIds }) => ({
      index: 0,
      content: shown,
      tokens: showsIds ? ids : [],
      stop: false,
      tokens_predicted: count,
    }),
    end: ({ reason, prompt, completion, cached }) => [
      {
        index: 0,
        content: "",
        tokens: [],
        stop: true,
        stop_type: reason === "stop" ? "eos" : "limit",
        tokens_predicted: completion,
        tokens_evaluated: prompt,
        timings: { cache_n: cached },
      },
    ],
  },
  ollama: {
    path: "/api/generate",
    contentType: "application/x-ndjson",
    separator: "lines",
    read(body) {
      const options = z.record(z.string(), z.unknown()).parse(body["options"]);
      const { format } = body;
      return toyRequest(String(body["prompt"]), {
        maxTokens: numberField.parse(options["num_predict"]),
        sampling: readSampling(options),
        ...first(
          format === undefined
            ? undefined
            : format === "json"
              ? { type: "json-object" }
              : { type: "json-schema", schema: text(format) },
        ),
      });
    },
    frame: ({ text: shown }) => ({ model: TOY_MODEL, response: shown, done: false }),
    end: ({ reason, prompt, completion }) => [
      {
        model: TOY_MODEL,
        response: "",
        done: true,
        done_reason: reason,
        prompt_eval_count: prompt,
        eval_count: completion,
      },
    ],
  },
};
