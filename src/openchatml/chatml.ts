/**
 * ChatML, the actual form of OpenChatML 1.x and 0.1:
 *
 *     <|im_start|>user name=Alice
 *     Hello<|im_end|>
 *
 * Bodies are verbatim but for one newline at each end. Nothing is escaped.
 */
import type { Message, ParsedDocument } from "./document.ts";
import { type ErrorCode, OpenChatMLError, type Warning } from "./errors.ts";
import { FrameError, readFrame } from "./frame.ts";
import { readDocumentHeader } from "./header.ts";
import { ByteOffsets } from "./utf8.ts";

const START = "<|im_start|>";
const END = "<|im_end|>";
/** The beginning of a document's frames, after a header or without one. */
const BEGINNING =
  /^\uFEFF?(?:\s*(?:<s>\s*)?<\|im_start\|>|(?:(?!<\|start\|>).*\r?\n)+(?:<s>\s*)?<\|im_start\|>)/;

/** Whether the document uses ChatML frames. */
export function isChatML(text: string): boolean {
  return text.includes(START) && BEGINNING.test(text);
}

export function readChatML(text: string, requireHeader: boolean): ParsedDocument {
  const first = text.search(/(?:<s>\s*)?<\|im_start\|>/);
  const offsets = new ByteOffsets();
  const error = (problem: string, at: number, code: ErrorCode = "E-PARSE-HEADER") =>
    new OpenChatMLError(code, problem, {
      offset: offsets.of(text, at),
      messageIndex: messages.length,
    });
  const messages: Message[] = [];
  const warnings: Warning[] = [];
  const head = readDocumentHeader(text.slice(0, first), true);
  if (head.type === "wrong") throw error(head.problem, head.at);
  const header = head.type === "header" ? head.header : null;
  if (header === null) {
    if (requireHeader) throw error("the document header is missing", 0);
    warnings.push({ code: "W-NO-HEADER", offset: 0, messageIndex: 0 });
  }
  warnings.push({ code: "W-CHATML", offset: offsets.of(text, first), messageIndex: 0 });

  let at = skip(text, first, /(?:<s>)?\s*/y);
  while (text.startsWith(START, at)) {
    const start = at + START.length;
    const end = text.indexOf(END, start);
    if (end < 0) throw error("the input ends inside a body", text.length, "E-STREAM-TRUNCATED");
    const lineEnd = text.indexOf("\n", start);
    const headEnd = lineEnd < 0 || lineEnd > end ? end : lineEnd;
    try {
      const frame = readFrame({ start: text.slice(start, headEnd) });
      for (const code of frame.warnings) {
        warnings.push({ code, offset: offsets.of(text, start), messageIndex: messages.length });
      }
      messages.push({
        ...frame.header,
        channel: "final",
        implicitChannel: true,
        content: text.slice(Math.min(headEnd + 1, end), end).replace(/\r?\n$/, ""),
        end: "end",
      });
    } catch (reason) {
      if (reason instanceof FrameError) throw error(reason.message, start, reason.code);
      throw reason;
    }
    at = skip(text, end + END.length, /\s*/y);
  }
  at = skip(text, at, /(?:<\/s>)?\s*/y);
  if (at < text.length) throw error("text outside messages", at);
  return { header, messages, warnings };
}

function skip(text: string, from: number, pattern: RegExp): number {
  pattern.lastIndex = from;
  return from + (pattern.exec(text)?.[0].length ?? 0);
}
