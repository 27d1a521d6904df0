/** Reads the text files and PDFs of a request as texts that replace them in the prompt. */
import { withDeadline } from "../../streams/follow-signal.ts";
import type { Pause } from "../../streams/slices.ts";
import { sha256Hex } from "../sha256.ts";
import { refusal } from "../errors.ts";
import { byteCount, decodeBase64, firstBytes } from "./base64.ts";
import { type FilePart, type MediaSlot, type MediaTexts, readFilePart } from "./media-part.ts";
import { fileText, pdfText, unreadFileText } from "./media-texts.ts";
import type { PdfTexts } from "./pdf-texts.ts";
import { MAX_CHARACTERS, type PdfText } from "./read-pdf.ts";

export interface FileDeps {
  /** Undefined: this runtime reads no PDFs. */
  readonly pdfs: PdfTexts | undefined;
  readonly pause: Pause;
}

/** Limit for all PDFs of a request together. */
const TIMEOUT_MS = 30_000;
const LATE = { type: "unreadable", why: "it was not read in time" } as const;
/** Parts that are read between two pauses: a few milliseconds. */
const SLICE = 100;
/** Bytes that may precede the beginning of a PDF. */
const MAX_PREFIX = 1024;
/**
 * Bytes of a text file that are decoded and shown. A multiple of three because of base64; a character has at most four
 * bytes.
 */
const MAX_TEXT_BYTES = 3 * Math.ceil((4 * MAX_CHARACTERS) / 3);

/** `why`: it cannot be read. */
type ReadFile =
  | { readonly text: string; readonly why?: undefined }
  | { readonly why: string; readonly text?: undefined };

/** Characters of a request's files after which no other is read: a PDF of a few bytes may have {@link MAX_CHARACTERS}. */
const MAX_TOGETHER = 4 * MAX_CHARACTERS;
const TOO_LONG: ReadFile = { why: "the files before it are too long" };
const NO_READER =
  "this gateway reads no PDFs; on Node it does once the package unpdf is installed beside it (npm install unpdf)";
const NOT_FETCHED = "files behind addresses are not fetched here";

export class RequestFiles {
  readonly #tenant: string;
  readonly #deps: FileDeps;

  constructor(tenant: string, deps: FileDeps) {
    this.#tenant = tenant;
    this.#deps = deps;
  }

  /** Texts for the parts that are text files or PDFs. */
  async read(slots: readonly MediaSlot[], signal: AbortSignal): Promise<MediaTexts> {
    const texts = new Map<object, string>();
    await withDeadline(signal, TIMEOUT_MS, async (within) => {
      let left = MAX_TOGETHER;
      // Files are read one after the other: a tenant may read one at a time.
      for (const [index, slot] of slots.entries()) {
        if (index % SLICE === SLICE - 1) await this.#deps.pause();
        signal.throwIfAborted();
        const file = readFilePart(slot.part);
        if (file === undefined) continue;
        const read = left > 0 ? await this.#readFile(file, within) : TOO_LONG;
        signal.throwIfAborted();
        if (read === undefined) continue;
        texts.set(slot.part, toText(file, read, slot));
        left -= read.text?.length ?? 0;
      }
    });
    return texts;
  }

  /** The text for a file in a tool's result. Undefined: it is neither a text nor a PDF. */
  async readFile(file: FilePart, signal: AbortSignal): Promise<string | undefined> {
    const read = await withDeadline(signal, TIMEOUT_MS, (within) => this.#readFile(file, within));
    signal.throwIfAborted();
    return read && (read.why === undefined ? read.text : unreadFileText(file.name, read.why));
  }

  async #readFile({ name, source }: FilePart, within: AbortSignal): Promise<ReadFile | undefined> {
    if (source.type === "url") return { why: NOT_FETCHED };
    if (source.type === "unreadable") return { why: source.why };
    const { base64 } = source;
    if (!isPdf(base64)) return this.#readText(name, base64);
    const { pdfs } = this.#deps;
    if (pdfs === undefined) return { why: NO_READER };
    const read = await this.#readPdf(base64, pdfs, within);
    return read.type === "text" ? { text: pdfText(name, read) } : { why: read.why };
  }

  async #readText(name: string, base64: string): Promise<ReadFile | undefined> {
    const bytes = await decodeBase64(base64.slice(0, (MAX_TEXT_BYTES / 3) * 4), this.#deps.pause);
    const isWhole = byteCount(base64) <= MAX_TEXT_BYTES;
    const text = bytes && decodeText(bytes, isWhole);
    return text === undefined ? undefined : { text: fileText(name, text, isWhole) };
  }

  async #readPdf(base64: string, pdfs: PdfTexts, within: AbortSignal): Promise<PdfText> {
    try {
      within.throwIfAborted();
      const load = () => decodeBase64(base64, this.#deps.pause);
      return await pdfs.read(this.#tenant, await sha256Hex(base64), load, within);
    } catch (error) {
      if (within.aborted) return LATE;
      throw error;
    }
  }
}

function toText({ name }: FilePart, read: ReadFile, { mediaRule, param }: MediaSlot): string {
  if (read.why === undefined) return read.text;
  if (mediaRule === "placeholder") return unreadFileText(name, read.why);
  throw refusal(param, `the file cannot be read: ${read.why}`);
}

function isPdf(base64: string): boolean {
  const head = firstBytes(base64, MAX_PREFIX) ?? new Uint8Array();
  return new TextDecoder("latin1").decode(head).includes("%PDF-");
}

/** Undefined: the bytes are not text. */
function decodeText(bytes: Uint8Array, isWhole: boolean): string | undefined {
  try {
    const decoder = new TextDecoder(encodingOf(bytes), { fatal: true });
    const text = decoder.decode(bytes, { stream: !isWhole });
    return UNPRINTABLE.test(text) ? undefined : text;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Control characters that no text has. */
// oxlint-disable-next-line no-control-regex -- these are meant
const UNPRINTABLE = /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/;

function encodingOf([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
}
