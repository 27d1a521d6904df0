/** The address of an MCP server without path and query, which can contain a credential. */
export function toShownUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null) return "";
  return url.pathname === "/" && url.search === "" ? url.origin : `${url.origin}/<redacted>`;
}
