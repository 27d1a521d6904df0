/** The gateway that serves the page. Without a slash at its end; with a path where a proxy puts the gateway below one. */
export function toGatewayUrl(): string {
  return new URL(".", location.href).href.slice(0, -1);
}
