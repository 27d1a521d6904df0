/** Parses a whole OpenChatML document. */
import { isChatML, readChatML } from "./chatml.ts";
import type { DocumentHeader, Message, ParsedDocument } from "./document.ts";
import { type MessageStart, Reader, type ReaderOptions, type ReaderSink } from "./reader.ts";
import { createArgumentCheck, type ToolSchemas } from "./tool-schemas.ts";

export interface ParseOptions {
  /** Apply Harmony's rules (HIP-1) even if the header does not request them. Default false. */
  readonly hip1?: boolean;
  /** Accept calls and replies without `call_id`, and generate one. Default false. */
  readonly lenient?: boolean;
  /** Reject a document without a header. Default false: it is a warning. */
  readonly requireHeader?: boolean;
  /** Check the arguments of calls. A call that does not fit is an error, `E-CALL-SCHEMA`. */
  readonly toolSchemas?: ToolSchemas;
}

/**
 * Throws an `OpenChatMLError` with reason and position, and a `TypeError` for a tool's schema that is not valid.
 *
 * @example
 * ```ts
 * import { parseOpenChatML } from "harmony-gateway/openchatml";
 *
 * const { messages, warnings } = parseOpenChatML("<|start|>user<|message|>Hi<|end|>");
 * messages.map(({ role, content }) => [role, content]); // => [["user", "Hi"]]
 * warnings.map((each) => each.code); // => ["W-NO-HEADER"]
 * ```
 */
export function parseOpenChatML(text: string, options: ParseOptions = {}): ParsedDocument {
  if (isChatML(text)) return readChatML(text, options.requireHeader ?? false);
  const { document, reader } = read(text, options, new Set());
  // A generated id occurs further on in the text: parse again with other ids.
  return reader.calls.hasCollided ? read(text, options, reader.calls.written).document : document;
}

/** Fills in defaults. */
export function toReaderOptions(
  { hip1 = false, lenient = false, requireHeader = false, toolSchemas }: ParseOptions,
  reservedIds: ReadonlySet<string>,
): ReaderOptions {
  const checkArguments = toolSchemas && createArgumentCheck(toolSchemas);
  return { hip1, lenient, requireHeader, checkArguments, reservedIds };
}

function read(
  text: string,
  options: ParseOptions,
  reservedIds: ReadonlySet<string>,
): { readonly document: ParsedDocument; readonly reader: Reader } {
  const collector = new Collector();
  const reader = new Reader(toReaderOptions(options, reservedIds), collector);
  reader.push(text);
  reader.finish();
  const { documentHeader: header, messages } = collector;
  return { document: { header, messages, warnings: reader.warnings }, reader };
}

class Collector implements ReaderSink {
  readonly messages: Message[] = [];
  documentHeader: DocumentHeader | null = null;
  #start: MessageStart | undefined;

  header(header: DocumentHeader | null): void {
    this.documentHeader = header;
  }

  start(message: MessageStart): void {
    this.#start = message;
  }

  text(): void {
    // The end event contains the whole body.
  }

  end(end: Message["end"], content: string): void {
    if (this.#start !== undefined) this.messages.push({ ...this.#start, content, end });
  }
}
