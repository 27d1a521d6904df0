/** Reads content parts that are files, in the shapes of all APIs. */
import { hasMembers } from "../../engines/untyped-json.ts";
import { fromBase64, isFile, type MediaSource, NO_FILES, readDrawing } from "./media-part.ts";

export interface FilePart {
  /** On one line. Empty: it has none. */
  readonly name: string;
  readonly source: MediaSource;
}

/** Undefined: the part is no file, or its content stands in it as it is. */
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
  // A text source of Anthropic's is no base64, and its text is read elsewhere.
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

/** A name as it may stand in the prompt. */
export function toFileName(name: unknown): string {
  if (typeof name !== "string") return "";
  return name
    .slice(0, MAX_NAME)
    .replaceAll(/[\p{Cc}\u2028\u2029[\]]+/gu, " ")
    .trim();
}
