/**
 * The prompt of a turn. It is encoded in slices, and no further than the model could read; the choices of a request share
 * theirs.
 */
import { dropFinishedAnalysis } from "../harmony/analysis.ts";
import type { ContentPart, Message } from "../harmony/conversation.ts";
import type { RenderedPrompt } from "../harmony/prompt.ts";
import { createRenderer, type Layout, type Renderer } from "../harmony/render.ts";
import { type TokenId, o200kHarmony } from "../tokenizer/index.ts";
import { type Pause, runInSlices } from "./slices.ts";
import { TEXT_BUDGET } from "./text-budget.ts";
import { TurnError } from "./turn-error.ts";

export interface PromptOptions {
  readonly layout: Layout;
  /** Whose texts they are. They are remembered for this tenant alone. */
  readonly tenant: string;
  /** Tokens of prompt and completion together, when it is known. */
  readonly contextLength: number | undefined;
  readonly pause: Pause;
  readonly signal: AbortSignal | undefined;
}

/** Bytes of the longest token: so many characters at least are needed for each token. */
const MAX_TOKEN_BYTES = 128;

/** Of a word of megabytes, so many of the ids counted so far may still become fewer. */
const UNSETTLED_TOKENS = 1024;

/**
 * At once where there is little to encode. A conversation that is far longer than the context is not encoded to its
 * end: that is a `TurnError`, as it is where the caller finds the prompt too long.
 */
export function renderPrompt(
  messages: readonly Message[],
  options: PromptOptions,
): RenderedPrompt | Promise<RenderedPrompt> {
  const { kept } = dropFinishedAnalysis(messages);
  checkFits(leastTokens(kept), options.contextLength);
  const { tenant: scope } = options;
  const steps = rendererFor(options.layout).renderCompletionInSteps({ messages: kept }, { scope });
  return runInSlices(steps, withCheck(options));
}

/** The prompt of these messages, made once for all who run them: the choices of a request hold the same array. */
export function sharePrompt(
  messages: readonly Message[],
  options: PromptOptions,
): RenderedPrompt | Promise<RenderedPrompt> {
  const { layout, contextLength } = options;
  const shared = prompts.get(messages);
  if (shared?.layout === layout && shared.contextLength === contextLength) return shared.prompt;
  const prompt = renderPrompt(messages, options);
  prompts.set(messages, { layout, contextLength, prompt });
  return prompt;
}

/** The ids of a text the prompt goes on with. */
export function encodeText(
  text: string,
  options: PromptOptions,
): readonly TokenId[] | Promise<readonly TokenId[]> {
  checkFits(text.length / MAX_TOKEN_BYTES, options.contextLength);
  return runInSlices(o200kHarmony().encodeInSteps(text), withCheck(options));
}

interface SharedPrompt {
  readonly layout: Layout;
  readonly contextLength: number | undefined;
  readonly prompt: RenderedPrompt | Promise<RenderedPrompt>;
}

const prompts = new WeakMap<readonly Message[], SharedPrompt>();

function withCheck(options: PromptOptions) {
  const { contextLength, pause, signal } = options;
  return {
    pause,
    signal,
    check: (tokens: number) => checkFits(tokens - UNSETTLED_TOKENS, contextLength),
  };
}

function checkFits(tokens: number, contextLength: number | undefined): void {
  if (contextLength === undefined || tokens <= contextLength) return;
  throw tooLong(contextLength, `more than ${contextLength}`);
}

/** The prompt and the context differ by so much as the message says. */
export function tooLong(contextLength: number, tokens: number | string): TurnError {
  return new TurnError(
    "context-length",
    `This model's maximum context length is ${contextLength} tokens, but the messages and tools ` +
      `are ${tokens} tokens long.`,
  );
}

/** What the text of the messages comes to at the least; the tools of a request are counted when they are encoded. */
function leastTokens(messages: readonly Message[]): number {
  let characters = 0;
  for (const { content } of messages) {
    if (typeof content === "string") characters += content.length;
    else for (const part of content) characters += partLength(part);
  }
  return characters / MAX_TOKEN_BYTES;
}

function partLength(part: ContentPart): number {
  switch (part.type) {
    case "text":
      return part.text.length;
    case "developer":
      return part.instructions?.length ?? 0;
    case "system":
      return part.identity?.length ?? 0;
    default:
      return part satisfies never;
  }
}

const renderers = new Map<Layout, Renderer>();

/** One for each layout, because each keeps the encoded messages of running conversations. */
export function rendererFor(layout: Layout): Renderer {
  let renderer = renderers.get(layout);
  if (!renderer)
    renderers.set(layout, (renderer = createRenderer({ layout, budget: TEXT_BUDGET })));
  return renderer;
}
