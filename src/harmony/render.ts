/**
 * Renders a conversation to ids, identical to those of openai/harmony 0.0.8.
 *
 *     <|start|>{author}{ to=recipient}{<|channel|>channel}{ content-type}<|message|>{body}<|end|>
 *
 * Each part in braces is encoded separately, as in the reference: encoding the whole prompt at once can give other
 * ids. Special ids are written only here. Names, schemas, tool results and user text are encoded as ordinary text.
 */

import { o200kHarmony } from "../tokenizer/index.ts";
import type { Tokenizer } from "../tokenizer/index.ts";
import { dropAnalysisLikeReference } from "./analysis.ts";
import { contentParts, offersFunctions, partText } from "./body.ts";
import type { Conversation, Message, Role } from "./conversation.ts";
import { HarmonyRenderError } from "./render-error.ts";
import { createPieceEncoder, specialPiece } from "./pieces.ts";
import type { Piece, PieceEncoder } from "./pieces.ts";
import { createPrompt } from "./prompt.ts";
import type { RenderedPrompt, RenderedSegment } from "./prompt.ts";
import { MemoryBudget } from "./text-memory.ts";
import { CALL, CHANNEL, CONSTRAIN, END, MESSAGE, RETURN, START } from "./tokens.ts";

export { HarmonyRenderError } from "./render-error.ts";

/**
 * Where recipients stand, and how content types are written.
 *
 * - `reference`: before the channel, as openai/harmony writes them: ` to=functions.f<|channel|>commentary json`.
 * - `guide`: of the assistant's messages behind the channel, `<|channel|>commentary to=functions.f json`, as the model itself
 *   nearly always writes calls; of results before it. So has OpenAI's guide to Harmony its examples.
 * - `channel-first`: on `commentary` behind the channel, and every content type with a marker, as oss-harmony 0.0.11 writes
 *   them: `<|channel|>commentary to=functions.f <|constrain|>json`.
 */
export type Layout = "guide" | "reference" | "channel-first";

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
  /** Instead of `cacheBytes`: a budget shared with other caches. */
  readonly budget?: MemoryBudget;
}

/** Yields the number of ids so far after each step of a few milliseconds, and returns the prompt. */
type RenderSteps = Generator<number, RenderedPrompt>;

interface RenderStepsOptions {
  /** Texts are cached for this scope only. */
  readonly scope: string;
  /** The role that writes next. Default `assistant`. */
  readonly nextRole?: Role;
  /** The ids of a message that is written as it was sampled, in pieces. Undefined: it is rendered. */
  readonly sampled?: (message: Message) => readonly Piece[] | undefined;
}

export interface Renderer {
  /** All messages, then `<|start|>` and the role that writes next (default `assistant`). */
  readonly renderCompletion: (conversation: Conversation, nextRole?: Role) => RenderedPrompt;
  /** The same in steps, so that a server can serve other requests while it renders a long conversation. */
  readonly renderCompletionInSteps: (
    conversation: Conversation,
    options: RenderStepsOptions,
  ) => RenderSteps;
  /** All messages. */
  readonly renderConversation: (conversation: Conversation) => RenderedPrompt;
  /** All messages; a last assistant message on `final` closes with `<|return|>`. */
  readonly renderTraining: (conversation: Conversation) => RenderedPrompt;
  /** One message, without regard to functions that other messages offer. */
  readonly renderMessage: (message: Message) => RenderedPrompt;
  /** `<|start|>` and the role: the beginning of a completion. */
  readonly renderStart: (role: Role) => RenderedPrompt;
  /** What may follow {@link renderStart}: the rest of the header and the beginning of a body, not closed. */
  readonly renderOpening: (opening: Opening) => RenderedPrompt;
}

/** A message that the model continues. */
export interface Opening extends Pick<
  Message,
  "recipient" | "channel" | "contentType" | "order" | "isJoined"
> {
  /** The beginning of the body. */
  readonly text?: string;
}

const DEFAULT_CACHE_BYTES = 16 * 1024 * 1024;

const PIECES = {
  start: specialPiece(START),
  channel: specialPiece(CHANNEL),
  constrain: specialPiece(CONSTRAIN),
  message: specialPiece(MESSAGE),
  end: specialPiece(END),
  call: specialPiece(CALL),
  return: specialPiece(RETURN),
};

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

  function layOutMessage(
    message: Message,
    hasFunctions: boolean,
    sampled?: RenderStepsOptions["sampled"],
  ): Draft {
    const parts = sampled?.(message);
    if (parts !== undefined) return { parts, message };
    const out = new Writer();
    out.special(PIECES.start);
    writeAuthor(out, message);
    writeHeader(out, message, toOrder(message, layout));
    for (const part of contentParts(message)) {
      out.text(partText(part, message.role, hasFunctions));
    }
    out.special(terminator(message));
    return { parts: out.parts, message };
  }

  /** Each message is laid out on demand. */
  function* layOut(
    { messages }: Conversation,
    sampled?: RenderStepsOptions["sampled"],
  ): Generator<Draft, void> {
    // Before anything is dropped: functions in dropped messages count, too.
    const hasFunctions = offersFunctions(messages);
    const kept = autoDropAnalysis ? dropAnalysisLikeReference(messages) : messages;
    for (const message of kept) yield layOutMessage(message, hasFunctions, sampled);
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

    *renderCompletionInSteps(conversation, { scope, nextRole = "assistant", sampled }) {
      const segments = yield* encodeInSteps(layOut(conversation, sampled), encoder, scope);
      segments.push(encodeDraft(layOutStart(nextRole), encoder));
      return createPrompt(segments, tokenizer);
    },

    renderConversation: (conversation) => createPrompt(messageSegments(conversation), tokenizer),

    renderTraining(conversation) {
      const segments = messageSegments(conversation);
      const last = segments.pop();
      if (last === undefined) return createPrompt([], tokenizer);
      const answered = last.message?.role === "assistant" && last.message.channel === "final";
      const closed = { ...last, pieces: [...last.pieces.slice(0, -1), PIECES.return] };
      return createPrompt([...segments, answered ? closed : last], tokenizer);
    },

    renderMessage: (message) =>
      createPrompt([encodeDraft(layOutMessage(message, false), encoder)], tokenizer),

    renderStart: (role) => createPrompt([encodeDraft(layOutStart(role), encoder)], tokenizer),

    renderOpening(opening) {
      const out = new Writer();
      writeHeader(out, opening, toOrder({ role: "assistant", ...opening }, layout));
      out.text(opening.text ?? "");
      return createPrompt([encodeDraft(out, encoder)], tokenizer);
    },
  };
}

/** A segment before it is encoded: text, and special tokens. */
interface Draft {
  readonly parts: readonly (string | Piece)[];
  readonly message?: Message;
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

/** In UTF-16 code units: the most that short texts in one step add up to, and the length of the longest short text. */
const STEP_UNITS = 8192;

/** Cached texts cost nothing here, so a conversation that continues takes one step, however long it is. */
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

function layOutStart(role: Role): Draft {
  return { parts: [PIECES.start, role] };
}

class Writer {
  readonly parts: (string | Piece)[] = [];

  special(piece: Piece): void {
    this.parts.push(piece);
  }

  text(text: string): void {
    if (text !== "") this.parts.push(text);
  }
}

/** The role and a name; for a tool only the name. */
function writeAuthor(out: Writer, { role, name }: Message): void {
  if (role !== "tool") {
    out.text(role);
    if (name !== undefined) out.text(`:${name}`);
  } else if (name === undefined) {
    throw new HarmonyRenderError("tool-without-name", "A tool message needs the name of its tool");
  } else {
    out.text(name);
  }
}

/** A header as it is written: each field of the message has its place. */
interface Order {
  readonly isChannelFirst: boolean;
  /** Every content type has a marker. */
  readonly isMarked: boolean;
}

function toOrder(
  { role, channel, order }: Pick<Message, "role" | "channel" | "order">,
  layout: Layout,
): Order {
  if (order !== undefined) return { isChannelFirst: order === "channel-first", isMarked: false };
  switch (layout) {
    case "reference":
      return { isChannelFirst: false, isMarked: false };
    case "guide":
      return { isChannelFirst: role === "assistant", isMarked: false };
    case "channel-first":
      return { isChannelFirst: channel === "commentary", isMarked: true };
    default:
      return layout satisfies never;
  }
}

/** From after the author to `<|message|>`. */
function writeHeader(out: Writer, header: Opening, { isChannelFirst, isMarked }: Order): void {
  const { recipient, channel, contentType, order, isJoined } = header;
  const to = recipient === undefined || recipient === "all" ? "" : ` to=${recipient}`;
  if (!isChannelFirst) out.text(to);
  if (channel !== undefined) {
    out.special(PIECES.channel);
    out.text(channel);
  }
  if (isChannelFirst) out.text(to);
  const space = order !== undefined && isJoined ? "" : " ";
  if (contentType !== undefined) writeContentType(out, contentType, { isMarked, space });
  out.special(PIECES.message);
}

/**
 * The only marker that a caller may spell: `<|constrain|>` at the very beginning becomes the special id. `isMarked`: the id
 * is written in any case.
 */
function writeContentType(
  out: Writer,
  contentType: string,
  { isMarked, space }: { readonly isMarked: boolean; readonly space: string },
): void {
  const marker = PIECES.constrain.text;
  const marked = contentType.startsWith(marker);
  if (marked || isMarked) {
    out.text(space);
    out.special(PIECES.constrain);
    out.text(marked ? contentType.slice(marker.length) : contentType);
  } else {
    out.text(` ${contentType}`);
  }
}

/** Any recipient makes an assistant message a call, even `all`, which is not written, and the empty one. */
function terminator({ role, recipient }: Message): Piece {
  return role === "assistant" && recipient !== undefined ? PIECES.call : PIECES.end;
}
