/** Reads content parts that are images, in the shapes of all APIs, since clients mix them. */
import { hasMembers } from "../../engines/untyped-json.ts";
import { byteCount } from "./base64.ts";

export interface ImagePart {
  readonly source: MediaSource;
  /** A short description suffices. */
  readonly isBrief: boolean;
}

export type MediaSource =
  | {
      readonly type: "data";
      /** As the client says: it may be wrong. */
      readonly mediaType: string;
      /** In the usual alphabet, without whitespace. */
      readonly base64: string;
    }
  | { readonly type: "url"; readonly url: string }
  /** `why`: completes a sentence, for the model. */
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

export function isFile(part: object): boolean {
  return "type" in part && FILE_TYPES.has(part.type);
}

/** Undefined: the part is no image. */
export function readImagePart(part: object): ImagePart | undefined {
  if (!isImage(part)) return undefined;
  const fields = new Map<string, unknown>(Object.entries(part));
  const given = fields.get("image_url");
  const inner = hasMembers(given) ? new Map<string, unknown>(Object.entries(given)) : fields;
  const address = typeof given === "string" ? given : inner.get("url");
  return { source: toImageSource(address, fields), isBrief: inner.get("detail") === "low" };
}

function toImageSource(address: unknown, fields: ReadonlyMap<string, unknown>): MediaSource {
  if (typeof address === "string") return fromAddress(address);
  const source = fields.get("source");
  if (hasMembers(source)) return fromAnthropic(new Map(Object.entries(source)));
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
const NO_FILES: MediaSource = { type: "unreadable", why: "uploaded files are not kept here" };
const BAD_DATA: MediaSource = { type: "unreadable", why: "its data is not base64" };

/** A data URL, or an address of the web. */
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
  const base64 = toUsualAlphabet(text);
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64) || byteCount(base64) < 1) return BAD_DATA;
  return { type: "data", mediaType: typeof mediaType === "string" ? mediaType : "", base64 };
}

/** Linear: whitespace and the alphabet for URLs are rare. */
function toUsualAlphabet(text: string): string {
  const joined = /\s/.test(text) ? text.replaceAll(/\s+/g, "") : text;
  return /[-_]/.test(joined) ? joined.replaceAll("-", "+").replaceAll("_", "/") : joined;
}
