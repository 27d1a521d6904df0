/**
 * The document header: YAML before the first line that begins with `<|start|>`, or between two lines `---`.
 *
 * The specification says "up to the first <|start|>", but its own header contains that token in a list.
 */
import type { DocumentHeader } from "./document.ts";
import { readYaml, writeYaml, YamlError } from "./yaml.ts";

export type FoundHeader =
  /** `end`: the offset of the first frame. */
  | { readonly type: "none"; readonly end: number }
  | {
      readonly type: "header";
      readonly header: DocumentHeader;
      readonly end: number;
      /** Before 2.2 calls have no ids. */
      readonly isLegacy: boolean;
      /** A minor version that this reader does not know. */
      readonly isNewer: boolean;
    }
  | { readonly type: "wrong"; readonly problem: string; readonly at: number }
  /** More text is needed. */
  | { readonly type: "unfinished" };

const START = "<|start|>";
const BOM = "\uFEFF";
/** Keys whose values are read as text: the YAML number 2.10 would be 2.1. */
const VERSION: ReadonlySet<string> = new Set(["version"]);

/** `isFinal`: the text is complete. */
export function readDocumentHeader(text: string, isFinal: boolean): FoundHeader {
  const begin = /^\uFEFF?[ \t\r\n]*/.exec(text)?.[0].length ?? 0;
  const rest = text.slice(begin);
  if (rest === "") return isFinal ? { type: "none", end: begin } : { type: "unfinished" };
  if (rest.startsWith(START)) return { type: "none", end: begin };
  if (START.startsWith(rest) && !isFinal) return { type: "unfinished" };

  // Indentation is significant in YAML, so the header includes its whole first line.
  const lineStart = Math.max(text.lastIndexOf("\n", begin - 1) + 1, text.startsWith(BOM) ? 1 : 0);
  const fenced = /^---[ \t]*(?:\r?\n|$)/.exec(rest);
  const found = fenced
    ? findFence(text, begin + fenced[0].length)
    : findFrames(text, lineStart, isFinal);
  if (found === undefined) {
    if (!isFinal) return { type: "unfinished" };
    const problem = "the document header is not closed with ---";
    return { type: "wrong", problem, at: begin };
  }
  const from = fenced ? begin + fenced[0].length : lineStart;
  return toHeader(text.slice(from, found.headerEnd), from, found.end);
}

/** Writes a header for a document, with an empty line after it. */
export function writeDocumentHeader(header: DocumentHeader): string {
  return `${writeYaml(header, VERSION)}\n`;
}

interface Bounds {
  readonly headerEnd: number;
  readonly end: number;
}

function findFence(text: string, from: number): Bounds | undefined {
  const fence = /^---[ \t]*(?:\r?\n|$)/gm;
  fence.lastIndex = from;
  const match = fence.exec(text);
  return match === null
    ? undefined
    : { headerEnd: match.index, end: match.index + match[0].length };
}

function findFrames(text: string, from: number, isFinal: boolean): Bounds | undefined {
  const at = text.indexOf(`\n${START}`, from);
  if (at >= 0) return { headerEnd: at + 1, end: at + 1 };
  return isFinal ? { headerEnd: text.length, end: text.length } : undefined;
}

function toHeader(yaml: string, from: number, end: number): FoundHeader {
  let map;
  try {
    map = readYaml(yaml, VERSION);
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    const lines = yaml.split("\n").slice(0, error.line);
    const at = from + lines.reduce((sum, line) => sum + line.length + 1, 0);
    return { type: "wrong", problem: `the document header: ${error.message}`, at };
  }
  const { version } = map;
  const [, major = "", minor = ""] =
    /^(\d{1,9})\.(\d{1,9})$/.exec(typeof version === "string" ? version : "") ?? [];
  if (major === "" || typeof version !== "string") {
    const problem = "the document header needs a version: major.minor";
    return { type: "wrong", problem, at: from };
  }
  if (Number(major) > 2) {
    return { type: "wrong", problem: `version ${version} is not known`, at: from };
  }
  const order = Number(major) * 1e9 + Number(minor);
  return {
    type: "header",
    header: { ...map, version },
    end,
    isLegacy: order < 2e9 + 2,
    isNewer: order > 2e9 + 2,
  };
}
