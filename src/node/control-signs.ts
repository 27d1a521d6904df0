/**
 * Prints control tokens so that real ones differ from the same characters typed as text. With colours, real
 * ones are inverse; without, typed ones get a backslash, `<\|end|>`.
 */
import { styleText } from "node:util";

export type Colour = Exclude<Parameters<typeof styleText>[0], readonly unknown[]>;

/** Matches anything in the form of a control token. */
const SPELLED = /<\|(?=\w+\|>)/g;

export function showToken(name: string, colour: Colour | undefined): string {
  return colour === undefined ? name : paint(["inverse", colour], name);
}

export function showText(text: string, colour: Colour | undefined): string {
  return colour === undefined ? text.replaceAll(SPELLED, "<\\|") : paint(colour, text);
}

/** Explains the notation, if it was used. */
export function explainSigns(text: string): string[] {
  if (text.search(SPELLED) < 0) return [];
  return ["A backslash marks ordinary text that is spelled like a control token."];
}

export function paint(format: Parameters<typeof styleText>[0], text: string): string {
  return styleText(format, text, { validateStream: false });
}
