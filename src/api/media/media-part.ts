/** Reads content parts that are images or files, in the shapes of all APIs, since clients mix them, and puts texts in their place. */
import { hasMembers } from "../../engines/untyped-json.ts";
import { byteCount } from "./base64.ts";
import type { MediaRule } from "../request/content-text.ts";

export interface ImagePart {
  readonly source: MediaSource;
  /** Whether a short description suffices. */
  readonly isBrief: boolean;
}

export type MediaSource =
  | {
      readonly type: "data";
      /** The client's label, which may be wrong. */
      readonly mediaType: string;
      /** Text in the standard base64 alphabet, without whitespace. */
      readonly base64: string;
    }
  | { readonly type: "url"; readonly url: string }
  /** `why` completes a sentence for the model. */
  | { readonly type: "unreadable"; readonly why: string };

const IMAGE_TYPES: ReadonlySet<unknown> = new Set(["image_url", "input_image", "image"]);
const FILE_TYPES: ReadonlySet<unknown> = new Set(["file", "input_file", "document"]);

/** Whether the part is an image or a file by its type. */
export function isMedia(part: object): boolean {
  return isImage(part) || isFile(part);
}

function isImage(part: object): boolean {
  return "type" in part && IMAGE_TYPES.has(part.type);
}

function isFile(part: object): boolean {
  return "type" in part && FILE_TYPES.has(part.type);
}

/** Undefined: the part is no image. */
export function readImagePart(part: object): ImagePart | undefined {
  if (!isImage(part)) return undefined;
  const fields = fieldsOf(part);
  return {
    source: toImageSource(addressOf(fields), fields),
    isBrief: (fieldsOf(fields.get("image_url")).get("detail") ?? fields.get("detail")) === "low",
  };
}

/** The data of an SVG image, which is text. Undefined: the part is something else. */
function readDrawing(part: object): MediaSource | undefined {
  if (!isImage(part)) return undefined;
  const fields = fieldsOf(part);
  const address = addressOf(fields);
  // The label is checked before the data, which may be long.
  const label = address?.slice(0, SVG.length) ?? fieldsOf(fields.get("source")).get("media_type");
  const isSvg = label === SVG || label === SVG.slice("data:".length);
  return isSvg ? toImageSource(address, fields) : undefined;
}

const SVG = "data:image/svg+xml";

function fieldsOf(value: unknown): ReadonlyMap<string, unknown> {
  return new Map(hasMembers(value) ? Object.entries(value) : []);
}

function addressOf(fields: ReadonlyMap<string, unknown>): string | undefined {
  const given = fields.get("image_url");
  const address = hasMembers(given) ? fieldsOf(given).get("url") : given;
  return typeof address === "string" ? address : undefined;
}

function toImageSource(
  address: string | undefined,
  fields: ReadonlyMap<string, unknown>,
): MediaSource {
  if (address !== undefined) return fromAddress(address);
  const source = fields.get("source");
  if (hasMembers(source)) return fromAnthropic(fieldsOf(source));
  return fields.get("file_id") == null ? NO_DATA : NO_FILES;
}

/** `{type: "base64" | "url" | "file", …}` */
function fromAnthropic(source: ReadonlyMap<string, unknown>): MediaSource {
  const [url, data] = [source.get("url"), source.get("data")];
  if (typeof url === "string") return fromAddress(url);
  if (typeof data === "string") return fromBase64(data, source.get("media_type"));
  return source.get("type") === "file" ? NO_FILES : NO_DATA;
}

const NO_DATA: MediaSource = { type: "unreadable", why: "it has no data" };
const NO_FILES: MediaSource = {
  type: "unreadable",
  why: "uploaded files are not kept here",
};
const EMPTY: MediaSource = { type: "unreadable", why: "it is empty" };
const BAD_DATA: MediaSource = { type: "unreadable", why: "its data is not base64" };

/** Reads a data URL or a web address. */
function fromAddress(address: string): MediaSource {
  if (/^https?:/i.test(address)) return { type: "url", url: address };
  const comma = address.indexOf(",");
  const head = comma > 0 && comma <= MAX_DATA_HEAD ? address.slice(0, comma) : "";
  const named = /^data:([^;]*)(?:;[^;]*)*;base64$/i.exec(head);
  if (named !== null) return fromBase64(address.slice(comma + 1), named[1]);
  return {
    type: "unreadable",
    why: "its address is neither a data URL with base64 nor of the web",
  };
}

const MAX_DATA_HEAD = 300;

export function fromBase64(text: string, mediaType: unknown): MediaSource {
  if (text === "") return EMPTY;
  const base64 = toUsualAlphabet(text);
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64) || byteCount(base64) < 1) return BAD_DATA;
  return { type: "data", mediaType: typeof mediaType === "string" ? mediaType : "", base64 };
}

/** Converts to the standard alphabet in linear time. Whitespace and the URL alphabet are rare. */
function toUsualAlphabet(text: string): string {
  const joined = /\s/.test(text) ? text.replaceAll(/\s+/g, "") : text;
  return /[-_]/.test(joined) ? joined.replaceAll("-", "+").replaceAll("_", "/") : joined;
}

export interface FilePart {
  /** The file's name on one line. Empty: the file has none. */
  readonly name: string;
  readonly source: MediaSource;
}

/** Undefined: the part is not a file, or its content is plain text. */
export function readFilePart(part: object): FilePart | undefined {
  const drawing = readDrawing(part);
  if (drawing?.type === "data") return { name: "image.svg", source: drawing };
  if (!isFile(part)) return undefined;
  const fields = new Map<string, unknown>(Object.entries(part));
  const nested = fields.get("file") ?? fields.get("source");
  const inner = new Map<string, unknown>(hasMembers(nested) ? Object.entries(nested) : fields);
  const source = toFileSource(inner);
  return source && { name: toFileName(inner.get("filename") ?? fields.get("title")), source };
}

function toFileSource(fields: ReadonlyMap<string, unknown>): MediaSource | undefined {
  // Anthropic's text source is not base64; other code reads its text.
  if (fields.get("type") === "text") return undefined;
  const url = fields.get("file_url") ?? fields.get("url");
  const data = fields.get("file_data") ?? fields.get("data") ?? url;
  if (typeof data === "string") {
    const isUrl = data.startsWith("data:");
    if (data === url && !isUrl) return { type: "url", url };
    return fromBase64(isUrl ? data.slice(data.indexOf(",") + 1) : data, "");
  }
  return fields.get("file_id") == null ? undefined : NO_FILES;
}

const MAX_NAME = 200;

/** A name that is safe in the prompt. */
export function toFileName(name: unknown): string {
  if (typeof name !== "string") return "";
  return name
    .slice(0, MAX_NAME)
    .replaceAll(/[\p{Cc}\u2028\u2029[\]]+/gu, " ")
    .trim();
}

export type MediaTexts = ReadonlyMap<object, string>;

/** A content part, its field, and the rule for a file in it that cannot be read. */
export interface MediaSlot {
  readonly part: object;
  readonly param: string;
  readonly mediaRule: MediaRule;
}

/** The slots of content. A text has none. `param`: the content's field. */
export function slotsOf(
  content: string | readonly object[] | null | undefined,
  param: string,
  mediaRule: MediaRule,
): MediaSlot[] {
  return partsOf(content).flatMap((part, index) =>
    isMedia(part) ? [{ part, param: `${param}[${index}]`, mediaRule }] : [],
  );
}

/** A type alias: an interface would not be assignable to loose parts. */
export type TextPart = { readonly type: "text"; readonly text: string };

/** The parts of content. A text has none. */
export function partsOf<P extends object>(
  content: string | readonly P[] | null | undefined,
): readonly P[] {
  return typeof content === "object" && content !== null ? content : [];
}

/**
 * Replaces parts by their texts. Returns the given content if there are none. Texts of parts are joined without a
 * separator, so each has its own lines.
 */
export function withTextParts<P extends object, C extends string | null | undefined>(
  content: C | P[],
  texts: MediaTexts,
): C | (P | TextPart)[] {
  if (!Array.isArray(content) || !content.some((part) => texts.has(part))) return content;
  return content.map((part, index) => {
    const text = texts.get(part);
    if (text === undefined) return part;
    const isFirst = index === 0;
    const isLast = index === content.length - 1;
    return { type: "text", text: `${isFirst ? "" : "\n"}${text}${isLast ? "" : "\n"}` };
  });
}
