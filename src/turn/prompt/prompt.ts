/** Renders the prompt of a turn. Encoding runs in slices and stops once the prompt exceeds the context. */
import { dropFinishedAnalysis } from "../../harmony/analysis.ts";
import type { ContentPart, Message } from "../../harmony/conversation.ts";
import type { RenderedPrompt } from "../../harmony/prompt.ts";
import { createRenderer, type Renderer } from "../../harmony/render.ts";
import type { Layout } from "../../harmony/message-layout.ts";
import { type TokenId, o200kHarmony } from "../../tokenizer/index.ts";
import { type Pause, runInSlices } from "../../streams/slices.ts";
import { type Exactness, exactnessOf } from "../sampled/exactness.ts";
import { TEXT_BUDGET } from "./text-budget.ts";
import { TurnError } from "../turn-error.ts";

export interface PromptOptions {
  readonly layout: Layout;
  /** Encoded texts are cached per tenant. */
  readonly tenant: string;
  /** Context length in tokens, prompt and completion together, if known. */
  readonly contextLength: number | undefined;
  readonly pause: Pause;
  readonly signal: AbortSignal | undefined;
}

/** Bytes of the longest token. A text has at least `length / MAX_TOKEN_BYTES` tokens. */
const MAX_TOKEN_BYTES = 128;

/** Token limit for servers that do not report a context length: eight times the context of gpt-oss. */
const LONGEST_CONTEXT = 1_048_576;

/** Within a single word of megabytes, the ids counted so far may still be merged into fewer. */
const UNSETTLED_TOKENS = 1024;

/**
 * Renders synchronously if there is little to encode. Throws a `TurnError` if the conversation is far longer than the
 * context, without encoding all of it. The caller throws the same error if the encoded prompt is too long.
 */
export function renderPrompt(
  messages: readonly Message[],
  options: PromptOptions,
): RenderedPrompt | Promise<RenderedPrompt> {
  const { kept } = dropFinishedAnalysis(messages);
  const { contextLength = LONGEST_CONTEXT } = options;
  checkFits(leastTokens(kept, contextLength), options.contextLength);
  const { tenant: scope } = options;
  const steps = rendererFor(options.layout).renderCompletionInSteps({ messages: kept }, { scope });
  return runInSlices(steps, withCheck(options));
}

/** The prompt of a turn. The choices of a request share it, and it is rendered once. */
export class TurnPrompt {
  /** The whole conversation, system message first. Analysis of finished turns has not been dropped yet. */
  readonly messages: readonly Message[];
  #rendering: RenderedPrompt | Promise<RenderedPrompt> | undefined;
  #rendered: RenderedPrompt | undefined;
  #exactness: Exactness | undefined;

  constructor(messages: readonly Message[]) {
    this.messages = messages;
  }

  /** Set in a running tool loop, once the prompt is rendered. */
  get exactness(): Exactness | undefined {
    return this.#exactness;
  }

  /** Undefined: the prompt has not been rendered yet. */
  get rendered(): RenderedPrompt | undefined {
    return this.#rendered;
  }

  /** The options of the first call count. See {@link renderPrompt}. */
  render(options: PromptOptions): RenderedPrompt | Promise<RenderedPrompt> {
    if (this.#rendering !== undefined) return this.#rendering;
    const rendered = renderPrompt(this.messages, options);
    return (this.#rendering =
      rendered instanceof Promise ? rendered.then(this.#note) : this.#note(rendered));
  }

  readonly #note = (rendered: RenderedPrompt): RenderedPrompt => {
    this.#exactness = exactnessOf(rendered);
    this.#rendered = rendered;
    return rendered;
  };
}

/** Encodes text that is appended to the prompt. */
export function encodeText(
  text: string,
  options: PromptOptions,
): readonly TokenId[] | Promise<readonly TokenId[]> {
  checkFits(text.length / MAX_TOKEN_BYTES, options.contextLength);
  return runInSlices(o200kHarmony().encodeInSteps(text), withCheck(options));
}

function withCheck(options: PromptOptions) {
  const { contextLength, pause, signal } = options;
  return {
    pause,
    signal,
    check: (tokens: number) => checkFits(tokens - UNSETTLED_TOKENS, contextLength),
  };
}

function checkFits(tokens: number, contextLength: number | undefined): void {
  const maximum = contextLength ?? LONGEST_CONTEXT;
  if (tokens <= maximum) return;
  const least = Math.max(Math.ceil(tokens), maximum + 1);
  if (contextLength !== undefined) throw tooLong(contextLength, least, "at least");
  throw new TurnError(
    "context-length",
    `The messages and tools are more than ${LONGEST_CONTEXT} tokens long. The engine of this model does not report ` +
      "its context length, so that is the limit.",
    { tokens: least, maximum },
  );
}

/** The error reports prompt length and context length in tokens. */
export function tooLong(
  contextLength: number,
  tokens: number,
  precision: "exactly" | "at least" = "exactly",
): TurnError {
  const length = precision === "exactly" ? tokens : `more than ${contextLength}`;
  return new TurnError(
    "context-length",
    `This model's maximum context length is ${contextLength} tokens, but the messages and tools ` +
      `are ${length} tokens long.`,
    { tokens, maximum: contextLength },
  );
}

/** A lower bound of the token count. Schemas are not counted, since their length is unknown until printed. */
function leastTokens(messages: readonly Message[], most: number): number {
  let tokens = 0;
  for (const { content } of messages) {
    if (typeof content === "string") tokens += content.length / MAX_TOKEN_BYTES;
    else for (const part of content) tokens += leastTokensOf(part, most);
  }
  return tokens;
}

function leastTokensOf(part: ContentPart, most: number): number {
  switch (part.type) {
    case "text":
      return part.text.length / MAX_TOKEN_BYTES;
    case "developer": {
      const functions = (part.namespaces ?? []).flatMap((namespace) => namespace.functions);
      let tokens = (part.instructions?.length ?? 0) / MAX_TOKEN_BYTES;
      for (const { description } of [...functions, ...(part.responseFormats ?? [])]) {
        if (tokens > most) break;
        tokens += leastTokensOfComment(description ?? "", most);
      }
      return tokens;
    }
    case "system":
      return (part.identity?.length ?? 0) / MAX_TOKEN_BYTES;
    default:
      return part satisfies never;
  }
}

/** Each line of a comment begins with its own token. Counting stops at `most` lines. */
function leastTokensOfComment(text: string, most: number): number {
  let lines = 0;
  for (let at = text.indexOf("\n"); at >= 0 && lines <= most; at = text.indexOf("\n", at + 1)) {
    lines++;
  }
  return Math.max(lines, text.length / MAX_TOKEN_BYTES);
}

const renderers = new Map<Layout, Renderer>();

/** One renderer per layout, since each caches encoded messages. */
export function rendererFor(layout: Layout): Renderer {
  let renderer = renderers.get(layout);
  if (!renderer)
    renderers.set(layout, (renderer = createRenderer({ layout, budget: TEXT_BUDGET })));
  return renderer;
}
