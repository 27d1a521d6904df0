/**
 * Splits long text at positions where a pretoken ends whatever the context, so that a buffer of bounded size
 * suffices and stays in the processor's cache.
 */

/** Length of an ordinary window in UTF-16 units. */
export const WINDOW = 0x8000;

/** The end of the window that begins at `start`. Longer than {@link WINDOW} only if no seam was found. */
export function windowEnd(text: string, start: number): number {
  for (let length = WINDOW; start + length < text.length; length *= 2) {
    // A window that had to grow has no seam in its first half.
    for (let end = start + length; end > start + length / 2; end--) {
      if (isSeam(text.charCodeAt(end - 1), text.charCodeAt(end))) return end;
    }
  }
  return text.length;
}

const LINE_FEED = 0x0a;
const SPACE = 0x20;
const SLASH = 0x2f;

/**
 * Whether a pretoken always ends between these two UTF-16 units. A space can only be the first character of a
 * pretoken, unless the pretoken is all white space; a newline only the last, unless more white space or a slash
 * follows.
 */
function isSeam(before: number, after: number): boolean {
  if (after === SPACE) return isGraphic(before);
  return before === LINE_FEED && after !== SLASH && isGraphic(after);
}

/**
 * Whether the unit is certainly not white space. May return false for other characters that are not white space either.
 */
function isGraphic(unit: number): boolean {
  return (unit > SPACE && unit < 0x7f) || unit > 0x3000;
}
