/** Page text begins with the page's address, as in training: line 0 is empty, and line 1 is the address. */
export function toPageText(url: string, text: string): string {
  return `\nURL: ${url}\n${text}`;
}
