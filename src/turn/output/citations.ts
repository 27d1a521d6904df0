/**
 * Converts citations in streamed text. The model was trained to write markers such as `【4†L10-L12】`; they become links
 * and annotations. A marker may be split anywhere: text from its bracket on is held back while it can still become one.
 */
import type { CitedLines, CitedSource } from "../../tools/gateway-tool.ts";

/** Handling of a marker with a known source. */
export type CitationMode =
  /** The marker is replaced by a Markdown link; the annotation spans the link. */
  | "link"
  /** The marker is removed; the annotation is empty and marks its position. */
  | "annotate"
  /** The marker is kept; the annotation spans it. */
  | "raw"
  /** The marker is removed without an annotation: the text is a document, in which a link would be an error. */
  | "cut";

export interface Citation extends CitedSource {
  /** UTF-16 offsets in the part's emitted text. */
  readonly start: number;
  /** End offset, exclusive. */
  readonly end: number;
}

/** Reads the text of a part. */
export interface TextReader {
  /** Returns the part of the text that is certain. */
  push(text: string): CitedText;
  /** Returns the text that was held back. */
  end(): CitedText;
}

export interface CitedText {
  readonly text: string;
  /** Citations that end in the text. */
  readonly citations: readonly Citation[];
}

export type FindSource = (cursor: number, lines?: CitedLines) => CitedSource | undefined;

export function createCitationFilter(mode: CitationMode, find: FindSource): TextReader {
  let held = "";
  let given = 0;

  function read(text: string, isWhole: boolean): CitedText {
    let out = "";
    const citations: Citation[] = [];
    let at = 0;
    for (;;) {
      const open = indexOfBracket(text, at);
      if (open < 0) {
        out += text.slice(at);
        held = "";
        break;
      }
      out += text.slice(at, open);
      MARKER.lastIndex = open;
      const marker = MARKER.exec(text);
      if (marker !== null) {
        const [written, cursor = "", place = ""] = marker;
        const { shown, source } = replace(written, Number(cursor), toLines(place));
        if (source !== undefined) {
          const start = given + out.length;
          citations.push({ ...source, start, end: start + shown.length });
        }
        out += shown;
        at = open + written.length;
      } else if (!isWhole && isBegun(text, open)) {
        held = text.slice(open);
        break;
      } else {
        out += text.charAt(open);
        at = open + 1;
      }
    }
    given += out.length;
    return { text: out, citations };
  }

  function replace(
    written: string,
    cursor: number,
    lines: CitedLines | undefined,
  ): { shown: string; source?: CitedSource } {
    const found = find(cursor, lines);
    if (mode === "raw") return { shown: written, ...(found && { source: toSource(found) }) };
    if (found === undefined || mode === "cut") return { shown: "" };
    const source = toSource(found);
    return { shown: mode === "link" ? toLink(source) : "", source };
  }

  return {
    push(text) {
      if (held === "" && indexOfBracket(text, 0) < 0) {
        given += text.length;
        return { text, citations: NO_CITATIONS };
      }
      return read(held + text, false);
    },
    end: () => read(held, true),
  };
}

/** The domain of an address, in its readable form. */
function toDomain(url: string): string {
  return URL.parse(url)?.hostname || url;
}

export const NO_CITATIONS: readonly Citation[] = [];

/** Maximum length of a marker. Longer text in brackets is not one. */
const MAX_MARKER_LENGTH = 64;

/** A citation marker. The model also writes the brackets of pages instead of these, and spaces after them. */
const MARKER =
  /[\u3010\u3016]\s{0,2}(\d{1,6})\u2020([^\u2020\u3011\u3017\n]{0,60})(?:\u2020[^\u2020\u3011\u3017\n]{0,60})?[\u3011\u3017]/y;
const BEGINNING = /^[\u3010\u3016]\s{0,2}(?:\d{1,6}(?:\u2020[^\u2020\u3011\u3017\n]*){0,2})?$/;

function indexOfBracket(text: string, from: number): number {
  const first = text.indexOf("【", from);
  const second = text.indexOf("〖", from);
  return first < 0 ? second : second < 0 ? first : Math.min(first, second);
}

function isBegun(text: string, open: number): boolean {
  return text.length - open < MAX_MARKER_LENGTH && BEGINNING.test(text.slice(open));
}

/** The lines of `L9-L11`; the first range of several. */
function toLines(place: string): CitedLines | undefined {
  const [, first, last = first] = /^\s*L(\d{1,6})(?:\s*-\s*L?(\d{1,6}))?/.exec(place) ?? [];
  return first === undefined ? undefined : { first: Number(first), last: Number(last) };
}

const MAX_TITLE_LENGTH = 200;

/** The source for annotations. The title comes from the page's author, so it is reduced to one line and cut. */
function toSource({ url, title, text }: CitedSource): CitedSource {
  const line = title.replace(/\s+/g, " ").trim().slice(0, MAX_TITLE_LENGTH);
  return { url, title: line === "" ? toDomain(url) : line, ...(text !== undefined && { text }) };
}

function toLink({ url }: CitedSource): string {
  const target = url.replace(/[()<>\s]/g, (character) => encodeHex(character));
  return ` ([${toDomain(url)}](${target}))`;
}

function encodeHex(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}
