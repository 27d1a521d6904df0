/** Reads content parts that are files with their data, in the shapes of all APIs. */
import { hasMembers } from "../../engines/untyped-json.ts";
import { fromBase64, isFile } from "./media-part.ts";

export interface FilePart {
  /** On one line. Empty: it has none. */
  readonly name: string;
  /** In the usual alphabet, without whitespace. */
  readonly base64: string;
}

/** Undefined: the part is no file, or its data are elsewhere. */
export function readFilePart(part: object): FilePart | undefined {
  if (!isFile(part)) return undefined;
  const fields = new Map<string, unknown>(Object.entries(part));
  const nested = fields.get("file") ?? fields.get("source");
  const inner = new Map<string, unknown>(hasMembers(nested) ? Object.entries(nested) : fields);
  // A text source of Anthropic's is no base64, and its text is read elsewhere.
  if (inner.get("type") === "text") return undefined;
  const data = inner.get("file_data") ?? inner.get("data");
  if (typeof data !== "string") return undefined;
  const comma = data.startsWith("data:") ? data.indexOf(",") : -1;
  const source = fromBase64(comma < 0 ? data : data.slice(comma + 1), "");
  if (source.type !== "data") return undefined;
  const name = inner.get("filename") ?? fields.get("title");
  return { name: typeof name === "string" ? toLine(name) : "", base64: source.base64 };
}

const MAX_NAME = 200;

function toLine(name: string): string {
  return name
    .slice(0, MAX_NAME)
    .replaceAll(/[\p{Cc}\u2028\u2029[\]]+/gu, " ")
    .trim();
}
