/**
 * The URL of the gateway that serves the page, without a slash at its end. It has a path where a proxy serves the gateway below
 * one.
 */
export function toGatewayUrl(): string {
  return new URL(".", location.href).href.slice(0, -1);
}
