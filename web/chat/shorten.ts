/** Shortens the data of pictures and PDFs to its beginning, for display. */

const DATA = /^(?:data:[\w/+.-]+;base64,)?[\w+/=]{400}/;
const SHOWN = 60;

export function shorten(text: string): string {
  return DATA.test(text) ? `${text.slice(0, SHOWN)}…` : text;
}

export function isShortened(text: string): boolean {
  return /[\w+/]{20}…/.test(text);
}
