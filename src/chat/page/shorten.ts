/** The data of pictures and PDFs as the page shows them: their beginning. */

const LONG = /([\w+/]{24})[\w+/=]{400,}/g;

export function shorten(text: string): string {
  return text.replaceAll(LONG, "$1…");
}

export function isShortened(text: string): boolean {
  return /[\w+/]{24}…/.test(text);
}
