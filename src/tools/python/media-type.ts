/** Files as data URLs. */
import type { PythonFile } from "./runtime.ts";

const TYPES: Readonly<Record<string, string>> = {
  svg: "image/svg+xml",
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  csv: "text/csv",
  txt: "text/plain",
  md: "text/markdown",
  json: "application/json",
  pdf: "application/pdf",
};

/**
 * The type is told by the name: the code that wrote the file is not to be trusted with more, and no client may take HTML
 * for a page.
 */
export function toDataUrl({ path, base64 }: PythonFile): string {
  const ending = /\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  const type = Object.hasOwn(TYPES, ending) ? TYPES[ending] : "application/octet-stream";
  const name = encodeURIComponent(path.slice(path.lastIndexOf("/") + 1));
  const isImage = type?.startsWith("image/") === true;
  return isImage ? `data:${type};base64,${base64}` : `data:${type};name=${name};base64,${base64}`;
}
