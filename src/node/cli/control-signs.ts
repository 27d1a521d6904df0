/**
 * Prints control tokens so that real ones differ from the same characters typed as text. With colours, real tokens are inverse;
 * without, typed ones get a backslash, `<\|end|>`.
 */
import { styleText } from "node:util";

export type Colour = Exclude<Parameters<typeof styleText>[0], readonly unknown[]>;

/** Matches anything in the form of a control token. */
const SPELLED = /<\|(?=\w+\|>)/g;

export function showToken(name: string, colour: Colour | undefined): string {
  return colour === undefined ? name : paint(["inverse", colour], name);
}

export function showText(text: string, colour: Colour | undefined): string {
  return colour === undefined ? text.replaceAll(SPELLED, "<\\|") : paint(colour, visible(text));
}

/** Explains the notation, if it was used. */
export function explainSigns(text: string): string[] {
  if (text.search(SPELLED) < 0) return [];
  return ["A backslash marks ordinary text that is spelled like a control token."];
}

/** Characters that a terminal interprets or hides: controls except tabs and line ends, marks of direction, line separators. */
const OBEYED =
  // oxlint-disable-next-line eslint/no-control-regex -- the pattern matches control characters
  /[\0-\x08\v-\x1F\x7F-\x9F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/g;
/** Escape sequence that begins or ends a colour of `paint`. */
// oxlint-disable-next-line eslint/no-control-regex -- the pattern matches an escape sequence
const COLOUR = /^\x1B\[[\d;]{1,16}m/;

/** The text as it may be sent to a terminal: characters that a terminal interprets are escaped, `\u001b`. */
export function visible(text: string, { keepsColours = false } = {}): string {
  return text.replace(OBEYED, (sign, at: number) => {
    if (keepsColours && sign === "\x1B" && COLOUR.test(text.slice(at, at + 20))) return sign;
    return `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

export function paint(format: Parameters<typeof styleText>[0], text: string): string {
  return styleText(format, text, { validateStream: false });
}
