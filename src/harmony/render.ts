/**
 * Renders a conversation to ids, identical to those of openai/harmony 0.0.8.
 *
 * Each part of a message is encoded separately, as in the reference: encoding the whole prompt at once can give other
 * ids.
 */
import { o200kHarmony } from "../tokenizer/index.ts";
import type { Tokenizer } from "../tokenizer/index.ts";
import { dropAnalysisLikeReference } from "./analysis.ts";
import { offersFunctions } from "./body.ts";
import type { Conversation, Message, Role } from "./conversation.ts";
import {
  type Draft,
  type Layout,
  layOutMessage,
  layOutOpening,
  layOutStart,
  type Opening,
} from "./message-layout.ts";
import { createPieceEncoder, specialPiece } from "./pieces.ts";
import type { Piece, PieceEncoder } from "./pieces.ts";
import { createPrompt } from "./prompt.ts";
import type { RenderedPrompt, RenderedSegment } from "./prompt.ts";
import { MemoryBudget } from "./text-memory.ts";
import { RETURN } from "./tokens.ts";

export interface RendererOptions {
  /** Default: the shared `o200k_harmony`. */
  readonly tokenizer?: Tokenizer;
  /** Default `reference`. */
  readonly layout?: Layout;
  /**
   * Drops analysis by the reference library's own rule, like its option of this name. Default false: for OpenAI's rule
   * call `dropFinishedAnalysis` first.
   */
  readonly autoDropAnalysis?: boolean;
  /**
   * Approximate size of the cache of encoded text in bytes, so that the next turn of a conversation encodes only new
   * text. 100,000 tokens of English count as about 1.6 MB. 0 disables the cache. Default 16 MiB.
   */
  readonly cacheBytes?: number;
  /** A budget shared with other caches, instead of `cacheBytes`. */
  readonly budget?: MemoryBudget;
}

/** Yields the number of ids so far after each step of a few milliseconds, and returns the prompt. */
type RenderSteps = Generator<number, RenderedPrompt>;

interface RenderStepsOptions {
  /** Texts are cached for this scope only. */
  readonly scope: string;
  /** The role that writes next. Default `assistant`. */
  readonly nextRole?: Role;
}

export interface Renderer {
  /** Renders all messages, then `<|start|>` and the role that writes next (default `assistant`). */
  readonly renderCompletion: (conversation: Conversation, nextRole?: Role) => RenderedPrompt;
  /**
   * Like {@link Renderer.renderCompletion}, in steps, so that a server can serve other requests while it renders a long
   * conversation.
   */
  readonly renderCompletionInSteps: (
    conversation: Conversation,
    options: RenderStepsOptions,
  ) => RenderSteps;
  /** All messages. */
  readonly renderConversation: (conversation: Conversation) => RenderedPrompt;
  /** All messages; a last assistant message on `final` closes with `<|return|>`. */
  readonly renderTraining: (conversation: Conversation) => RenderedPrompt;
  /** Renders one message, without regard to functions that other messages offer. */
  readonly renderMessage: (message: Message) => RenderedPrompt;
  /** `<|start|>` and the role: the beginning of a completion. */
  readonly renderStart: (role: Role) => RenderedPrompt;
  /**
   * Renders the ids that may follow {@link renderStart}: the rest of the header and the beginning of a body, not
   * closed.
   */
  readonly renderOpening: (opening: Opening) => RenderedPrompt;
}

const DEFAULT_CACHE_BYTES = 16 * 1024 * 1024;

const RETURN_PIECE = specialPiece(RETURN);

/**
 * Renders the same conversation to the same ids, with or without its cache.
 *
 * @example
 * ```ts
 * import { createRenderer } from "harmony-gateway/harmony";
 *
 * const prompt = createRenderer().renderCompletion({ messages: [{ role: "user", content: "Hi" }] });
 * prompt.text(); // => "<|start|>user<|message|>Hi<|end|><|start|>assistant"
 * prompt.ids; // => [200006, 1428, 200008, 12194, 200007, 200006, 173781]
 * ```
 */
export function createRenderer({
  tokenizer = o200kHarmony(),
  layout = "reference",
  autoDropAnalysis = false,
  cacheBytes = DEFAULT_CACHE_BYTES,
  budget = new MemoryBudget(cacheBytes),
}: RendererOptions = {}): Renderer {
  const encoder = createPieceEncoder(tokenizer, budget);

  /** Each message is laid out on demand. */
  function* layOut({ messages }: Conversation): Generator<Draft, void> {
    // Determined before messages are dropped: functions in dropped messages count, too.
    const hasFunctions = offersFunctions(messages);
    const kept = autoDropAnalysis ? dropAnalysisLikeReference(messages) : messages;
    for (const message of kept) {
      const parts = message.sampled?.pieces;
      yield parts === undefined ? layOutMessage(message, layout, hasFunctions) : { parts, message };
    }
  }

  function messageSegments(conversation: Conversation): RenderedSegment[] {
    return Array.from(layOut(conversation), (draft) => encodeDraft(draft, encoder));
  }

  return {
    renderCompletion: (conversation, nextRole = "assistant") =>
      createPrompt(
        [...messageSegments(conversation), encodeDraft(layOutStart(nextRole), encoder)],
        tokenizer,
      ),

    *renderCompletionInSteps(conversation, { scope, nextRole = "assistant" }) {
      const segments = yield* encodeInSteps(layOut(conversation), encoder, scope);
      segments.push(encodeDraft(layOutStart(nextRole), encoder));
      return createPrompt(segments, tokenizer);
    },

    renderConversation: (conversation) => createPrompt(messageSegments(conversation), tokenizer),

    renderTraining(conversation) {
      const segments = messageSegments(conversation);
      const last = segments.pop();
      if (last === undefined) return createPrompt([], tokenizer);
      const answered = last.message?.role === "assistant" && last.message.channel === "final";
      const closed = { ...last, pieces: [...last.pieces.slice(0, -1), RETURN_PIECE] };
      return createPrompt([...segments, answered ? closed : last], tokenizer);
    },

    renderMessage: (message) =>
      createPrompt([encodeDraft(layOutMessage(message, layout, false), encoder)], tokenizer),

    renderStart: (role) => createPrompt([encodeDraft(layOutStart(role), encoder)], tokenizer),

    renderOpening: (opening) =>
      createPrompt([encodeDraft(layOutOpening(opening, layout), encoder)], tokenizer),
  };
}

/** The scope if none is given: callers of the library, and the gateway's own texts. */
const NO_SCOPE = "";

function encodeDraft({ parts, message }: Draft, encoder: PieceEncoder): RenderedSegment {
  const pieces = parts.map((part) =>
    typeof part === "string" ? encoder.encode(part, NO_SCOPE) : part,
  );
  return toSegment(pieces, message);
}

function toSegment(pieces: readonly Piece[], message: Message | undefined): RenderedSegment {
  let length = 0;
  for (const { ids } of pieces) length += ids.length;
  return { type: "rendered", pieces, length, ...(message && { message }) };
}

/** Maximum sum of short texts in one step, and maximum length of a short text, in UTF-16 code units. */
const STEP_UNITS = 8192;

/**
 * Encodes texts in steps. Cached texts cost nothing, so a continued conversation takes one step, however long it is.
 */
function* encodeInSteps(
  drafts: Iterable<Draft>,
  encoder: PieceEncoder,
  scope: string,
): Generator<number, RenderedSegment[]> {
  const segments: RenderedSegment[] = [];
  let length = 0;
  let units = 0;

  function* encodeNew(text: string): Generator<number, Piece> {
    units += text.length;
    if (units > STEP_UNITS) {
      units = text.length;
      yield length;
    }
    if (text.length <= STEP_UNITS) return encoder.encode(text, scope);
    return yield* countedFrom(length, encoder.encodeInSteps(text, scope));
  }

  for (const { parts, message } of drafts) {
    const pieces: Piece[] = [];
    for (const part of parts) {
      const piece =
        typeof part === "string" ? (encoder.find(part, scope) ?? (yield* encodeNew(part))) : part;
      pieces.push(piece);
      length += piece.ids.length;
    }
    segments.push(toSegment(pieces, message));
  }
  return segments;
}

function* countedFrom<T>(start: number, steps: Generator<number, T>): Generator<number, T> {
  let step = steps.next();
  while (!step.done) {
    yield start + step.value;
    step = steps.next();
  }
  return step.value;
}
