/** A model and a server that pass all checks of the doctor, built on the demo engine, with one configurable defect. */
import {
  type CompletionRequest,
  createEngine,
  type Engine,
  type EngineEvent,
} from "../../src/index.ts";
import { o200kHarmony, SPECIAL_TOKENS, type TokenId } from "../../src/tokenizer/index.ts";
import { promptOf, spelledIds } from "./spelled.ts";

type Constraint = NonNullable<CompletionRequest["constraint"]>;

export type Defect =
  /** Text instead of ids; for a text server, without control tokens. */
  | "no-ids"
  /** Control tokens are read as ordinary text. */
  | "wrong-specials"
  | "ignored-constraints"
  /** Under a JSON constraint, the model writes white space until its tokens are used up. */
  | "endless-white-space"
  /** The token that ends a completion is not returned. */
  | "hidden-stop"
  /** The whole output is sent at the end. */
  | "buffered"
  | "ignored-temperature"
  /** Completions of clients that have left continue, one at a time. */
  | "kept-slots"
  /** Sampled tokens are not cached, like windows of vLLM without `--prefix-cache-retention-interval`. */
  | "cached-prompts-only"
  /** Only prompts equal to an earlier one are cached. */
  | "cached-wholes-only";

const { "<|return|>": RETURN, "<|call|>": CALL, "<|endoftext|>": END_OF_TEXT } = SPECIAL_TOKENS;
const ENDS: ReadonlySet<TokenId> = new Set([RETURN, CALL, END_OF_TEXT]);

/** The toy's output where a constraint requires a code, and within a turn. */
const CODE = "kelp-417";
const DOCUMENT = '{"plant":"kelp","depth":3,"calm":true}';

const VLLM = createEngine("vllm", { url: "http://a", model: "m" });
const demo = createEngine("demo", { model: "demo" });

/** All ids of a completion, up to where the request or the model ends it. */
export async function writeToy(
  request: CompletionRequest,
  defect: Defect | undefined,
): Promise<{ ids: readonly TokenId[]; reason: "stop" | "length" }> {
  const stops = new Set([...ENDS, ...request.stopIds]);
  const written = await chooseIds(request, defect);
  const end = written.findIndex((id) => stops.has(id));
  return end >= 0 && end < request.maxTokens
    ? { ids: written.slice(0, end + 1), reason: "stop" }
    : { ids: written.slice(0, request.maxTokens), reason: "length" };
}

const JSON_CONSTRAINTS: ReadonlySet<Constraint["type"]> = new Set([
  "json-schema",
  "json-object",
  "structural-tag",
]);

async function chooseIds(request: CompletionRequest, defect: Defect | undefined) {
  const { constraint, maxTokens, sampling } = request;
  const forced = [...(sampling.logitBias ?? [])].find(([, bias]) => bias >= 100)?.[0];
  if (forced !== undefined) return Array.from({ length: maxTokens }, () => forced);
  if (defect === "wrong-specials") return spelledIds("How can I help you today?<|return|>");
  if (constraint !== undefined && defect !== "ignored-constraints") {
    if (defect === "endless-white-space" && JSON_CONSTRAINTS.has(constraint.type)) {
      return spelledIds(`{${" \n".repeat(maxTokens)}`);
    }
    return constrained(request, constraint);
  }
  const plain = { ...request };
  delete plain.constraint;
  return [...vary(request, defect), ...(await demoIds(plain))];
}

/** Digits that differ with the seed, if the request enables sampling: only in an answer, whose beginning is free. */
function vary({ prompt, sampling }: CompletionRequest, defect: Defect | undefined): TokenId[] {
  if (!prompt.text().endsWith("<|message|>")) return [];
  const isGreedy = sampling.temperature === 0 || sampling.topK === 1;
  const seed = sampling.seed ?? 0;
  if (defect === "ignored-temperature") return digits(seed * 7919 + 1);
  return isGreedy ? [] : digits(seed);
}

function digits(seed: number): TokenId[] {
  return o200kHarmony().encode(`${(Math.imul(seed + 1, 0x9e3779b1) >>> 0).toString()} `);
}

async function constrained(
  request: CompletionRequest,
  constraint: Constraint,
): Promise<readonly TokenId[]> {
  switch (constraint.type) {
    case "json-schema":
    case "json-object":
    case "choice":
      return demoIds(request);
    case "grammar":
    case "lark":
    case "regex":
      return spelledIds(`${CODE}<|return|>`);
    case "structural-tag":
    case "token-grammar":
      return spelledIds(
        `<|channel|>analysis<|message|>The sea.<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>${DOCUMENT}<|return|>`,
      );
    default:
      return constraint satisfies never;
  }
}

async function demoIds(request: CompletionRequest): Promise<TokenId[]> {
  const ids: TokenId[] = [];
  const sampling = { ...request.sampling };
  // The demo's own variation: here only a temperature varies.
  delete sampling.seed;
  const whole = { ...request, sampling, maxTokens: 100_000, stopIds: [] };
  for await (const event of demo.complete(whole, new AbortController().signal)) {
    if (event.type === "ids") ids.push(...event.ids);
  }
  return ids;
}

/** The toy as an engine without any wire. Caches prompts by salt, as servers do. */
export function createToyEngine(defect?: Defect): Engine {
  const seen: CachedIds[] = [];
  return {
    name: "vllm",
    capabilities: VLLM.capabilities,
    probe: () =>
      Promise.resolve({
        description: "toy",
        models: ["openai/gpt-oss-20b"],
        contextLength: 131_072,
        capabilities: VLLM.capabilities,
      }),
    async *complete(request, signal): AsyncGenerator<EngineEvent> {
      const { ids, reason } = await writeToy(request, defect);
      const cachedTokens = countCached(request, ids, { seen, defect });
      yield { type: "open" };
      const shown = reason === "stop" && defect === "hidden-stop" ? ids.slice(0, -1) : ids;
      for (const id of shown) {
        await Promise.resolve();
        signal.throwIfAborted();
        yield { type: "ids", ids: [id], ...toLogprobs([id], request.topLogprobs) };
      }
      const usage = {
        promptTokens: request.prompt.ids.length,
        completionTokens: ids.length,
        cachedTokens,
      };
      yield { type: "finish", reason, nativeReason: reason, usage };
    },
  };
}

/** The ids of one request in a server's prefix cache. */
export interface CachedIds {
  readonly salt: string;
  readonly ids: readonly TokenId[];
}

/**
 * The longest beginning of the prompt that is cached, without its last token. Then the prompt and the written ids are
 * cached, too.
 */
export function countCached(
  { prompt, cacheSalt: salt = "" }: CompletionRequest,
  written: readonly TokenId[],
  { seen, defect }: { readonly seen: CachedIds[]; readonly defect: Defect | undefined },
): number {
  const { ids } = prompt;
  const shared = seen.map((each) => {
    if (each.salt !== salt) return 0;
    const differs = ids.findIndex((id, index) => each.ids[index] !== id);
    if (differs === -1) return ids.length - 1;
    return defect === "cached-wholes-only" ? 0 : differs;
  });
  const kept = defect === "cached-prompts-only" ? ids : [...ids, ...written.slice(0, -1)];
  seen.push({ salt, ids: kept });
  return Math.max(0, ...shared);
}

export function toLogprobs(ids: readonly TokenId[], topLogprobs: number | undefined) {
  if (topLogprobs === undefined) return {};
  return {
    logprobs: ids.map((id) => ({
      id,
      logprob: -0.1,
      top: Array.from({ length: topLogprobs }, (_, rank) => ({
        id: rank === 0 ? id : rank,
        logprob: -0.1 - rank,
      })),
    })),
  };
}

/** A request in the form that a server reads, from ids or from text. */
export function toyRequest(
  prompt: readonly TokenId[] | string,
  fields: Omit<CompletionRequest, "prompt" | "requestId" | "stopIds"> & {
    readonly stopIds?: readonly TokenId[];
  },
): CompletionRequest {
  const text = typeof prompt === "string" ? prompt : o200kHarmony().decode(prompt);
  const ids = typeof prompt === "string" ? spelledIds(prompt) : prompt;
  return {
    stopIds: [],
    ...fields,
    prompt: { ...promptOf(ids), text: () => text },
    requestId: "toy",
  };
}
