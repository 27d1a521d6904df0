/** Isolates tenants in the prefix caches of inference servers: one salt per tenant, equal on all replicas. */

/** Returns the tenant's salt, or undefined if caches are not isolated. */
export type CacheSalts = (tenant: string) => string | undefined | Promise<string>;

interface CacheSaltOptions {
  readonly isolateCaches: "auto" | "on" | "off";
  /** One API key per tenant. */
  readonly keys: readonly { readonly name: string; readonly sha256: string }[];
}

/**
 * Derives each salt from the hash of the tenant's key. The engine and its logs see no tenant name, and a salt
 * cannot be guessed without the key.
 */
export function createCacheSalts({ isolateCaches, keys }: CacheSaltOptions): CacheSalts {
  const isOn = isolateCaches === "on" || (isolateCaches === "auto" && keys.length > 1);
  const hashes = new Map(isOn ? keys.map(({ name, sha256 }) => [name, sha256]) : []);
  const salts = new Map<string, string>();
  return (tenant) => {
    const hash = hashes.get(tenant);
    if (hash === undefined) return undefined;
    return salts.get(tenant) ?? remember(tenant, hash);
  };

  async function remember(tenant: string, hash: string): Promise<string> {
    const salt = await hmacHex(hash, "harmony-gateway prefix cache");
    salts.set(tenant, salt);
    return salt;
  }
}

/** Returns the first 128 bits in hexadecimal. */
async function hmacHex(secret: string, text: string): Promise<string> {
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, [
    "sign",
  ]);
  const bytes = new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(text)));
  return Array.from(bytes.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
