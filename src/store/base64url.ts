/** Bytes as base64url, without padding, on every runtime. */

export function toBase64Url(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Undefined unless it is exactly the output of `toBase64Url`: another spelling would be an undetected change. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[\w-]+$/.test(text)) return undefined;
  let binary: string;
  try {
    binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return undefined;
  }
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  // Only bits after the last byte can be spelled in several ways.
  const tail = bytes.subarray(bytes.length - (bytes.length % 3));
  return text.endsWith(toBase64Url(tail)) ? bytes : undefined;
}
