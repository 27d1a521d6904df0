/** The text of a page begins with its address, in training too: line 0 is empty, and line 1 is the address. */
export function toPageText(url: string, text: string): string {
  return `\nURL: ${url}\n${text}`;
}
