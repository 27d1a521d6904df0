/** Converts any number of lines. Memory holds one line and the pending output. */
import { isUtf8 } from "node:buffer";
import { type ConvertOptions, convertLine } from "./convert-line.ts";
import { LineError } from "./transcript.ts";

export interface StreamDeps {
  readonly input: AsyncIterable<Uint8Array>;
  /** Resolves when there is room for more. */
  readonly write: (text: string) => Promise<void>;
  readonly onBadLine: (line: BadLine) => Promise<void>;
  readonly onLosses: (line: number, losses: readonly string[]) => Promise<void>;
  /** Called after each read. */
  readonly onProgress: (report: ConvertReport) => void;
  /** Maximum size of a line. Longer ones are reported as errors and not kept in memory. */
  readonly maxLineBytes: number;
}

export interface BadLine {
  /** Line number, counted from 1. */
  readonly line: number;
  readonly code: string;
  readonly message: string;
}

export interface ConvertReport {
  bytes: number;
  lines: number;
  converted: number;
  bad: number;
  /** Number of lines per kind of loss. */
  readonly losses: Map<string, number>;
}

/** Characters buffered before a write. */
const BATCH = 1 << 20;
const NEWLINE = 0x0a;

export async function convertStream(
  options: ConvertOptions,
  deps: StreamDeps,
): Promise<ConvertReport> {
  const report: ConvertReport = { bytes: 0, lines: 0, converted: 0, bad: 0, losses: new Map() };
  let output = "";

  async function convert(bytes: Buffer, isTooLong: boolean): Promise<void> {
    report.lines++;
    try {
      const text = isTooLong ? undefined : toText(bytes);
      if (text?.trim() === "") return;
      if (text === undefined) throw tooLong(deps.maxLineBytes);
      const { line, losses } = convertLine(text, options);
      report.converted++;
      output += `${line}\n`;
      for (const loss of losses) report.losses.set(loss, (report.losses.get(loss) ?? 0) + 1);
      if (losses.length > 0) await deps.onLosses(report.lines, losses);
    } catch (error) {
      if (!(error instanceof LineError)) throw error;
      report.bad++;
      await deps.onBadLine({ line: report.lines, code: error.code, message: error.message });
    }
    if (output.length >= BATCH) await flush();
  }

  async function flush(): Promise<void> {
    const batch = output;
    output = "";
    if (batch !== "") await deps.write(batch);
  }

  const pending = new PendingLine(deps.maxLineBytes);
  for await (const read of deps.input) {
    const chunk = Buffer.from(read.buffer, read.byteOffset, read.byteLength);
    report.bytes += chunk.length;
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      const { bytes, isTooLong } = pending.finish(chunk.subarray(from, end));
      await convert(bytes, isTooLong);
      from = end + 1;
    }
    pending.add(chunk.subarray(from));
    deps.onProgress(report);
  }
  if (!pending.isEmpty) {
    const { bytes, isTooLong } = pending.finish(Buffer.alloc(0));
    await convert(bytes, isTooLong);
  }
  await flush();
  deps.onProgress(report);
  return report;
}

/** The beginning of a line whose end has not been read. */
class PendingLine {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#maxBytes) this.#chunks = [];
    // The chunk is copied, because the stream reuses its buffer.
    else if (chunk.length > 0) this.#chunks.push(Buffer.from(chunk));
  }

  finish(rest: Buffer): { readonly bytes: Buffer; readonly isTooLong: boolean } {
    const isTooLong = this.#bytes + rest.length > this.#maxBytes;
    const isWhole = this.#chunks.length === 0;
    const bytes = isTooLong || isWhole ? rest : Buffer.concat([...this.#chunks, rest]);
    this.#chunks = [];
    this.#bytes = 0;
    return { bytes, isTooLong };
  }
}

function toText(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new LineError("E-UTF8", "the line is not UTF-8");
  return bytes.toString("utf8");
}

function tooLong(maxBytes: number): LineError {
  return new LineError("E-LINE-LENGTH", `the line is longer than ${maxBytes} bytes`);
}
