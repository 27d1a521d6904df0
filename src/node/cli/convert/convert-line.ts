/** Converts one line between formats. */
import type { LossMask } from "../../../harmony/loss-mask.ts";
import type { SystemOptions } from "../../../harmony/messages.ts";
import type { Renderer } from "../../../harmony/render.ts";
import { OpenChatMLError } from "../../../openchatml/index.ts";
import { readDocument, readLine } from "./read-line.ts";
import { type Format, LineError, type Mode, type Target } from "./transcript.ts";
import { writeDocument, writeLine, type WrittenLine } from "./write-line.ts";

export interface ConvertOptions {
  readonly from: Format;
  readonly to: Target;
  /**
   * The mode of conversion. Absent: `training` for ids, `history` for texts. A document that is written as a document is left
   * unchanged.
   */
  readonly mode: Mode | undefined;
  readonly mask: LossMask | undefined;
  readonly maskAs: "labels" | "mask" | "both";
  readonly lenient: boolean;
  /** Reject lines that lose information. */
  readonly strict: boolean;
  readonly system: Omit<SystemOptions, "effort">;
  readonly renderer: Renderer;
}

/** Throws a {@link LineError} for a line that cannot be converted as requested. */
export function convertLine(line: string, options: ConvertOptions): WrittenLine {
  const { from, to, strict, lenient } = options;
  const written =
    from === "openchatml" && to === "openchatml"
      ? { line: rewriteDocument(line, lenient, options.mode), losses: [] }
      : convertThroughHarmony(line, options);
  const losses = [...new Set(written.losses)].toSorted();
  if (strict && losses.length > 0) throw new LineError("E-LOSSY", losses.join(", "));
  return { line: written.line, losses };
}

function convertThroughHarmony(line: string, options: ConvertOptions): WrittenLine {
  const mode = options.mode ?? (options.to === "ids" ? "training" : "history");
  return writeLine(readLine(line, { ...options, mode }), { ...options, mode });
}

function rewriteDocument(line: string, lenient: boolean, mode: Mode | undefined): string {
  const document = readDocument(line, lenient);
  try {
    return writeDocument(document, mode);
  } catch (error) {
    if (error instanceof OpenChatMLError) throw new LineError(error.code, error.message);
    throw error;
  }
}
