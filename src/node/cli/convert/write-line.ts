/** Writes a transcript as one line of JSON. */
import { dropFinishedAnalysis } from "../../../harmony/analysis.ts";
import type { Message } from "../../../harmony/conversation.ts";
import { type LossMask, maskedPieces } from "../../../harmony/loss-mask.ts";
import type { SystemOptions } from "../../../harmony/messages.ts";
import { createPrompt, type RenderedPrompt, type Segment } from "../../../harmony/prompt.ts";
import { type Renderer } from "../../../harmony/render.ts";
import { HarmonyRenderError } from "../../../harmony/render-error.ts";
import {
  type Document,
  fromHarmony,
  OpenChatMLError,
  renderOpenChatML,
} from "../../../openchatml/index.ts";
import { o200kHarmony } from "../../../tokenizer/index.ts";
import { toChatLine } from "./to-chat.ts";
import { LineError, type Mode, type Target, type Transcript } from "./transcript.ts";

export interface WriteOptions {
  readonly to: Target;
  readonly mode: Mode;
  readonly mask: LossMask | undefined;
  /** The member names of the mask. */
  readonly maskAs: "labels" | "mask" | "both";
  readonly lenient: boolean;
  readonly system: Omit<SystemOptions, "effort">;
  readonly renderer: Renderer;
}

export interface WrittenLine {
  readonly line: string;
  readonly losses: readonly string[];
}

/** Throws a {@link LineError}. */
export function writeLine(transcript: Transcript, options: WriteOptions): WrittenLine {
  try {
    return write(prepare(transcript, options), options);
  } catch (error) {
    if (error instanceof OpenChatMLError) throw new LineError(error.code, error.message);
    if (error instanceof HarmonyRenderError) throw new LineError("E-RENDER", error.message);
    throw error;
  }
}

/** Writes a document as one line, in the requested mode. */
export function writeDocument(document: Document, mode: Mode | undefined): string {
  const modes =
    mode === undefined ? {} : { mode: mode === "prompt" ? ("completion" as const) : mode };
  return JSON.stringify({ text: renderOpenChatML(document, modes) });
}

/** A prompt omits the analysis of finished turns. */
function prepare(transcript: Transcript, { mode }: WriteOptions): Transcript {
  if (mode !== "prompt") return transcript;
  const { kept, dropped } = dropFinishedAnalysis(transcript.messages);
  const gone = new Set(dropped.map(({ index }) => index));
  const indexes = [...transcript.messages.keys()].filter((index) => !gone.has(index));
  return {
    messages: kept,
    callIds: indexes.map((index) => transcript.callIds[index]),
    cut: new Set(
      [...indexes.entries()].flatMap(([at, of]) => (transcript.cut.has(of) ? [at] : [])),
    ),
    losses: transcript.losses,
  };
}

function write(transcript: Transcript, options: WriteOptions): WrittenLine {
  const { to, mode, lenient } = options;
  switch (to) {
    case "chat": {
      const { line, losses } = toChatLine(transcript, options.system);
      return { line, losses: [...withoutIds(transcript), ...losses] };
    }
    case "openchatml": {
      const { messages, callIds } = transcript;
      const { document, lossy } = fromHarmony(messages, { lenient, callIds });
      const changed = messages.some(isMadeExplicit) ? ["defaults"] : [];
      const losses = [...withoutIds(transcript), ...lossy, ...changed];
      if (!endsOpen(transcript)) return { line: writeDocument(document, mode), losses };
      return { line: openDocument(document), losses };
    }
    case "harmony": {
      const prompt = render(transcript, options);
      const losses = prompt.textAltered() ? ["typed-markers"] : [];
      return {
        line: JSON.stringify({ text: prompt.text() }),
        losses: [...lost(transcript), ...losses],
      };
    }
    case "ids": {
      const prompt = render(transcript, options);
      return { line: idsLine(prompt, options), losses: lost(transcript) };
    }
    default:
      return to satisfies never;
  }
}

/** Whether OpenChatML writes a field of the message explicitly, or in one form only. */
function isMadeExplicit({ role, channel, recipient, contentType = "" }: Message): boolean {
  const hasDefault =
    role === "tool"
      ? channel === undefined || recipient === undefined
      : role === "assistant" && channel === undefined;
  const spaced = /^(?:<\|constrain\|>)?\s|\s$/.test(contentType);
  return hasDefault || recipient === "all" || spaced;
}

/** Reports the loss of call ids if the format has no field for them. */
function withoutIds({ losses }: Transcript): string[] {
  return losses.filter((loss) => loss !== "call-id");
}

/** Removes the last end token, so that readers find the document truncated. */
function openDocument(document: Document): string {
  const text = renderOpenChatML(document, { mode: "history" });
  return JSON.stringify({ text: text.slice(0, text.lastIndexOf("<|")) });
}

function lost(transcript: Transcript): string[] {
  const isLost = transcript.callIds.some((id) => id !== undefined);
  return [...withoutIds(transcript), ...(isLost ? ["call-id"] : [])];
}

/** Whether the last message has no end, and so stays open. */
function endsOpen({ messages, cut }: Transcript): boolean {
  return cut.has(messages.length - 1);
}

function render(transcript: Transcript, options: WriteOptions): RenderedPrompt {
  const { cut } = transcript;
  if (cut.size === 0) return renderWhole(transcript, options);
  const mode = endsOpen(transcript) ? "history" : options.mode;
  const { segments } = renderWhole(transcript, { ...options, mode });
  return createPrompt(
    segments.map((segment, index) => {
      const isLast = index === transcript.messages.length - 1;
      return cut.has(index) ? toCutSegment(segment, isLast) : segment;
    }),
    o200kHarmony(),
  );
}

/** The segment of an unfinished message. Without the end of a message, masks leave its segment out. */
function toCutSegment(segment: Segment, isLast: boolean): Segment {
  if (segment.type === "appended") return segment;
  const pieces = isLast ? segment.pieces.slice(0, -1) : segment.pieces;
  const length = segment.length - (isLast ? 1 : 0);
  const { message } = segment;
  const isKept = message !== undefined && message.role !== "assistant";
  return { type: "rendered", pieces, length, ...(isKept && { message }) };
}

function renderWhole({ messages }: Transcript, { renderer, mode }: WriteOptions): RenderedPrompt {
  switch (mode) {
    case "history":
      return renderer.renderConversation({ messages });
    case "training":
      return renderer.renderTraining({ messages });
    case "prompt":
      return renderer.renderCompletion({ messages });
    default:
      return mode satisfies never;
  }
}

/** The label that trainers exclude from the loss. */
const IGNORED = "-100";

function idsLine(prompt: RenderedPrompt, { mask, maskAs }: WriteOptions): string {
  const inputIds = `{"input_ids":[${toText(prompt.idsJson())}]`;
  if (mask === undefined) return `${inputIds}}`;
  const runs = [...maskedPieces(prompt, mask)];
  let line = inputIds;
  if (maskAs !== "mask") {
    const labels = runs.map(({ piece, isTarget }) =>
      isTarget ? toText([piece.idsJson()]) : repeated(IGNORED, piece.ids.length),
    );
    line += `,"labels":[${labels.join(",")}]`;
  }
  if (maskAs !== "labels") {
    const bits = runs.map(({ piece, isTarget }) =>
      repeated(isTarget ? "1" : "0", piece.ids.length),
    );
    line += `,"mask":[${bits.join(",")}]`;
  }
  return `${line}}`;
}

/** Joins the ids, without the first comma. */
function toText(idsJson: readonly Uint8Array[]): string {
  return Buffer.concat(idsJson).toString("latin1", 1);
}

function repeated(word: string, count: number): string {
  return `${word},`.repeat(count).slice(0, -1);
}
