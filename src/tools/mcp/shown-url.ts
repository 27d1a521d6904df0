/** The address of an MCP server as others may see it: a path or a query can hold a credential. */
export function toShownUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null) return "";
  return url.pathname === "/" && url.search === "" ? url.origin : `${url.origin}/<redacted>`;
}
