/** Whether `fetch` can send a text as the value of a header. A key that was copied from a document may have typographic quotes. */
export function isHeaderValue(text: string): boolean {
  return /^[ -~\u00a0-\u00ff]*$/.test(text);
}
