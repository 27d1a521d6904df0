/** Encodes files as data URLs. */
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
 * The media type is derived from the name by a fixed list: the code that wrote the file is not trusted, and clients
 * must not render its output as HTML.
 */
export function toDataUrl({ path, base64 }: PythonFile): string {
  const ending = /\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  const type = Object.hasOwn(TYPES, ending) ? TYPES[ending] : "application/octet-stream";
  const name = encodeURIComponent(path.slice(path.lastIndexOf("/") + 1).toWellFormed());
  const isImage = type?.startsWith("image/") === true;
  return isImage ? `data:${type};base64,${base64}` : `data:${type};name=${name};base64,${base64}`;
}
