/** What keeps the prefix caches of inference servers apart: a salt for each tenant, the same on all replicas. */

/** The salt of a tenant; undefined where nothing is to be kept apart. */
export type CacheSalts = (tenant: string) => string | undefined | Promise<string>;

interface CacheSaltOptions {
  readonly isolateCaches: "auto" | "on" | "off";
  /** The keys, by tenant. */
  readonly keys: readonly { readonly name: string; readonly sha256: string }[];
}

/**
 * Made of the hash of the tenant's key: the engine, and whoever reads its log, learns no name, and nobody who does not
 * have the key can guess it.
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

/** 128 bits of it. */
async function hmacHex(secret: string, text: string): Promise<string> {
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, [
    "sign",
  ]);
  const bytes = new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(text)));
  return Array.from(bytes.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
