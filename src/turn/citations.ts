/**
 * Citations in streamed text: the markers that the model was trained to write, `【4†L10-L12】`, become links and
 * annotations. A marker may come in any pieces; from its bracket on, text is held back while it can still become one.
 */
import type { CitedLines, CitedSource } from "../tools/builtin-tool.ts";

/** What becomes of a marker whose source is known. */
export type CitationMode =
  /** A Markdown link takes its place; the annotation spans it. */
  | "link"
  /** It is cut; the annotation is empty and stands in its place. */
  | "annotate"
  /** It stays; the annotation spans it. */
  | "raw"
  /** It is cut without an annotation: the text is a document, in which a link would be a mistake. */
  | "cut";

export interface Citation extends CitedSource {
  /** UTF-16 offsets in the text of the part as given out. */
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

export interface CitedText {
  readonly text: string;
  /** Those that end in the text. */
  readonly citations: readonly Citation[];
}

export interface CitationFilter {
  push(text: string): CitedText;
  /** What was held back and turned out to be no marker. */
  end(): CitedText;
}

export type FindSource = (cursor: number, lines?: CitedLines) => CitedSource | undefined;

export function createCitationFilter(mode: CitationMode, find: FindSource): CitationFilter {
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
        return { text, citations: NONE };
      }
      return read(held + text, false);
    },
    end: () => read(held, true),
  };
}

/** The domain of an address, as a reader knows it. */
export function toDomain(url: string): string {
  return URL.parse(url)?.hostname || url;
}

const NONE: readonly Citation[] = [];

/** Characters of the longest marker. A longer text in brackets is none. */
const MAX_MARKER_LENGTH = 64;

/** The model also writes the brackets that pages are given in place of these, and spaces behind them. */
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

/** Of `L9-L11`, and of several such places the first. */
function toLines(place: string): CitedLines | undefined {
  const [, first, last = first] = /^\s*L(\d{1,6})(?:\s*-\s*L?(\d{1,6}))?/.exec(place) ?? [];
  return first === undefined ? undefined : { first: Number(first), last: Number(last) };
}

const MAX_TITLE_LENGTH = 200;

/** A title was written by whoever made the page. */
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
