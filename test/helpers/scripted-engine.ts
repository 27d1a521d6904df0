/** An engine that follows a script, with any form of output, and records its requests. */
import type { Capabilities, CompletionRequest, Engine, EngineEvent } from "../../src/index.ts";
import { isSpecial, o200kHarmony, type TokenId } from "../../src/tokenizer/index.ts";
import { spelledIds } from "./spelled.ts";

type EngineProgress = Extract<EngineEvent, { type: "progress" }>;
type EngineTokens = Extract<EngineEvent, { type: "ids" | "pieces" | "text" }>;
type EngineUsage = Extract<EngineEvent, { type: "finish" }>["usage"];

/** The output of one call: spelled Harmony, ids, or a failure after some output. */
export type Script = string | readonly TokenId[] | Failing | Refusing;

export interface Refusing {
  /** Thrown before anything is accepted. */
  readonly refuse: Error;
}

export interface Failing {
  readonly write: string | readonly TokenId[];
  readonly finish?: "stop" | "length";
  /** Thrown after the text. */
  readonly fail?: Error;
  /** Waits for the signal after the text. */
  readonly hang?: boolean;
  /** Reported instead of the actual count. */
  readonly usage?: EngineUsage;
}

export interface ScriptedOptions {
  readonly form?: EngineTokens["type"];
  /** Tokens in one read. Default 1. */
  readonly batch?: number;
  readonly capabilities?: Partial<Capabilities>;
  /** Report the number of tokens of a text and a completion. Default true; text servers often do not. */
  readonly counts?: boolean;
  /** Reported before the first token of each call. */
  readonly progress?: readonly Omit<EngineProgress, "type">[];
}

export interface ScriptedEngine extends Engine {
  readonly requests: readonly CompletionRequest[];
  /** The prompts as text, in order. */
  readonly prompts: readonly string[];
  /** Calls that have neither finished nor been aborted. */
  readonly open: number;
}

/**
 * Answers call after call from a list, or from a function of the request. Like a server, a completion stops at
 * gpt-oss's stop ids, at `stopIds` and at `maxTokens`.
 */
export function scriptedEngine(
  scripts: readonly Script[] | ((request: CompletionRequest, call: number) => Script),
  options: ScriptedOptions = {},
): ScriptedEngine {
  const { form = "ids", batch = 1, counts = true } = options;
  const requests: CompletionRequest[] = [];
  let open = 0;

  return {
    name: "scripted",
    capabilities: {
      idsIn: true,
      idsOut: form === "ids" ? "exact" : form === "pieces" ? "lossy" : "none",
      ...(form === "text" && { showsMarkers: true }),
      stopIdVisible: true,
      stopIds: true,
      constraints: [],
      logprobs: form === "ids",
      sampling: ["temperature", "topP", "logitBias"],
      ...options.capabilities,
    },
    requests,
    get prompts() {
      return requests.map((request) => o200kHarmony().decode(request.prompt.ids));
    },
    get open() {
      return open;
    },
    probe() {
      return Promise.resolve({ description: "scripted", capabilities: this.capabilities });
    },
    complete,
  };

  async function* complete(
    request: CompletionRequest,
    signal: AbortSignal,
  ): AsyncGenerator<EngineEvent> {
    const call = requests.length;
    requests.push(request);
    const given = typeof scripts === "function" ? scripts(request, call) : scripts[call];
    if (given === undefined) throw new Error(`no script for engine call ${call}`);
    if (isRefusing(given)) throw given.refuse;
    const script: Failing = isFailing(given) ? given : { write: given };
    const { write } = script;
    const { ids, ended } = cut(typeof write === "string" ? spelledIds(write) : write, request);
    open++;
    try {
      await tick(signal);
      yield { type: "open" };
      for (const each of options.progress ?? []) {
        await tick(signal);
        yield { type: "progress", ...each };
      }
      for (let at = 0; at < ids.length; at += batch) {
        await tick(signal);
        const tokens = toTokens(form, ids.slice(at, at + batch), request);
        yield tokens.type === "text" && !counts ? { type: "text", text: tokens.text } : tokens;
      }
      if (script.hang) await aborted(signal);
      if (script.fail) throw script.fail;
      const reason = script.finish ?? ended;
      yield {
        type: "finish",
        reason,
        nativeReason: reason,
        ...(counts && {
          usage: script.usage ?? {
            promptTokens: request.prompt.ids.length,
            completionTokens: ids.length,
          },
        }),
      };
    } finally {
      open--;
    }
  }
}

function isRefusing(script: Script): script is Refusing {
  return typeof script === "object" && "refuse" in script;
}

function isFailing(script: Script): script is Failing {
  return typeof script === "object" && "write" in script;
}

const MODEL_STOPS = new Set([200002, 200012, 199999]);

function cut(
  ids: readonly TokenId[],
  { stopIds, maxTokens }: CompletionRequest,
): { ids: readonly TokenId[]; ended: "stop" | "length" } {
  const stop = ids.findIndex((id) => MODEL_STOPS.has(id) || stopIds.includes(id));
  const stopped = stop < 0 ? ids : ids.slice(0, stop + 1);
  if (stopped.length > maxTokens) return { ids: stopped.slice(0, maxTokens), ended: "length" };
  return { ids: stopped, ended: "stop" };
}

function toTokens(
  form: EngineTokens["type"],
  ids: readonly TokenId[],
  request: CompletionRequest,
): EngineTokens {
  const tokenizer = o200kHarmony();
  switch (form) {
    case "ids":
      return {
        type: "ids",
        ids,
        ...(request.topLogprobs !== undefined && {
          logprobs: ids.map((id) => ({
            id,
            logprob: -id / 1e6,
            top: [{ id, logprob: -id / 1e6 }],
          })),
        }),
      };
    case "pieces":
      return {
        type: "pieces",
        counts: ids.map(() => 1),
        pieces: ids.map((id) =>
          isSpecial(id) ? { special: id } : { text: tokenizer.decode([id]) },
        ),
      };
    case "text":
      return { type: "text", text: tokenizer.decode(ids), tokens: ids.length };
    default:
      return form satisfies never;
  }
}

async function tick(signal: AbortSignal): Promise<void> {
  await Promise.resolve();
  signal.throwIfAborted();
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const leave = () => reject(new Error("aborted", { cause: signal.reason }));
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
  });
}
