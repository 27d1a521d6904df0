/**
 * The text of deltas as JSON.
 *
 * A delta is mostly one word, of which nothing has to be escaped. To see that takes 100 instructions, while `JSON.stringify`
 * takes 850 to return the word between quotes.
 */

/** Longer texts are left to `JSON.stringify`, which takes less for each character. */
const MAX_PLAIN = 64;
const SPACE = 32;
const QUOTE = 34;
const BACKSLASH = 92;
const DELETE = 127;

/** Whether a text is short, ASCII alone, and in JSON the same but for the quotes around it. */
export function isPlain(text: string): boolean {
  const { length } = text;
  if (length > MAX_PLAIN) return false;
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    if (code < SPACE || code >= DELETE || code === QUOTE || code === BACKSLASH) return false;
  }
  return true;
}

/** The same as `JSON.stringify`. @param isOneWord what {@link isPlain} has said of the text */
export function toJsonText(text: string, isOneWord: boolean): string {
  return isOneWord ? `"${text}"` : JSON.stringify(text);
}

/** Whether a text has as many bytes as characters. */
export function isAscii(text: string): boolean {
  return /^\p{ASCII}*$/u.test(text);
}
