/**
 * Encrypted reasoning: text that a client carries but cannot read, change or use as another tenant.
 *
 * AES-256-GCM by WebCrypto, with keys derived from the operator's secrets. Its bytes, encoded as base64url:
 *
 *     0        1              9               21                         end
 *     | version | key id (8)  | nonce (12)    | ciphertext, then tag (16) |
 *
 * The version, the key id, the purpose and the tenant are authenticated with it. The nonce is random, which is safe for 2³² texts
 * under one key. Rotate keys long before that.
 */
import { createPause } from "../streams/slices.ts";

export interface ReasoningCipher {
  readonly seal: (text: string, bound: SealBinding) => Promise<string>;
  readonly open: (sealed: string, bound: SealBinding) => Promise<OpenedSeal>;
}

/** The binding of encrypted reasoning: decryption with any other binding fails. */
export interface SealBinding {
  readonly tenant: string;
  /** The kind of text, for instance `reasoning`, so that one kind cannot replace another. */
  readonly purpose: string;
}

export type OpenedSeal =
  | { readonly opened: true; readonly text: string }
  | { readonly opened: false; readonly reason: SealRefusal };

export type SealRefusal =
  /** The text was not produced by this version, is truncated, or exceeds the maximum. */
  | "malformed"
  /** Encrypted with a key that is not, or no longer, configured. */
  | "unknown-key"
  /** Altered, or made for another tenant or purpose. */
  | "not-authentic";

interface ReasoningCipherOptions {
  /** Secrets, newest first: the first encrypts, all decrypt. Any text that is hard to guess. */
  readonly secrets: readonly [string, ...string[]];
  readonly randomBytes: (length: number) => Uint8Array<ArrayBuffer>;
}

const VERSION = 1;
const KEY_ID_BYTES = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = 1 + KEY_ID_BYTES;
const SHORTEST = HEADER_BYTES + NONCE_BYTES + TAG_BYTES;
/**
 * Maximum characters, for reasoning as long as a whole context, at eight bytes per token. Longer texts are refused before
 * decoding.
 */
const LONGEST = 1_500_000;
/** Number of characters with the version and the key id. */
const HEADER_CHARACTERS = (HEADER_BYTES / 3) * 4;

export function createReasoningCipher(options: ReasoningCipherOptions): ReasoningCipher {
  const [newest, ...older] = options.secrets;
  const sealing = deriveKey(newest);
  const all = Promise.all([sealing, ...older.map((secret) => deriveKey(secret))]);
  // If the runtime lacks an algorithm, the first call of `seal` or `open` rejects.
  all.catch(() => {});
  const pause = createPause();

  return {
    async seal(text, bound) {
      const { id, key } = await sealing;
      const header = concat(Uint8Array.of(VERSION), id);
      const nonce = options.randomBytes(NONCE_BYTES);
      const ciphertext = await crypto.subtle.encrypt(
        { name: "AES-GCM", iv: nonce, additionalData: additionalData(header, bound) },
        key,
        encoder.encode(text),
      );
      return toBase64Url(concat(header, nonce, new Uint8Array(ciphertext)));
    },

    async open(sealed, bound) {
      if (sealed.length > LONGEST) return { opened: false, reason: "malformed" };
      const header = fromBase64Url(sealed.slice(0, HEADER_CHARACTERS));
      if (header?.[0] !== VERSION) return { opened: false, reason: "malformed" };
      const id = header.slice(1);
      const derived = (await all).find((each) => equal(each.id, id));
      if (derived === undefined) return { opened: false, reason: "unknown-key" };
      // When many long texts are decrypted concurrently, one is decoded per turn of the event loop.
      if (sealed.length >= SLICE) await pause();
      const bytes = fromBase64Url(sealed);
      if (bytes === undefined || bytes.length < SHORTEST) {
        return { opened: false, reason: "malformed" };
      }
      try {
        const text = await crypto.subtle.decrypt(
          {
            name: "AES-GCM",
            iv: bytes.slice(HEADER_BYTES, HEADER_BYTES + NONCE_BYTES),
            additionalData: additionalData(header, bound),
          },
          derived.key,
          bytes.slice(HEADER_BYTES + NONCE_BYTES),
        );
        return { opened: true, text: decoder.decode(text) };
      } catch {
        return { opened: false, reason: "not-authentic" };
      }
    },
  };
}

/** The type of a WebCrypto key, which Node's types do not export. */
type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

interface DerivedKey {
  readonly id: Uint8Array<ArrayBuffer>;
  readonly key: Key;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** HKDF derives the key and, under another label, the key id. */
async function deriveKey(secret: string): Promise<DerivedKey> {
  const material = await crypto.subtle.importKey("raw", encoder.encode(secret), "HKDF", false, [
    "deriveKey",
    "deriveBits",
  ]);
  const labelled = (info: string) => ({
    name: "HKDF",
    hash: "SHA-256",
    salt: encoder.encode("harmony-gateway seals"),
    info: encoder.encode(info),
  });
  const [id, key] = await Promise.all([
    crypto.subtle.deriveBits(labelled("key id"), material, KEY_ID_BYTES * 8),
    crypto.subtle.deriveKey(labelled("key"), material, { name: "AES-GCM", length: 256 }, false, [
      "encrypt",
      "decrypt",
    ]),
  ]);
  return { id: new Uint8Array(id), key };
}

/** The binding as JSON, so that tenant and purpose are separated unambiguously. */
function additionalData(
  header: Uint8Array<ArrayBuffer>,
  { purpose, tenant }: SealBinding,
): Uint8Array<ArrayBuffer> {
  return concat(header, encoder.encode(JSON.stringify([purpose, tenant])));
}

function concat(...arrays: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(arrays.reduce((length, each) => length + each.length, 0));
  let at = 0;
  for (const each of arrays) {
    whole.set(each, at);
    at += each.length;
  }
  return whole;
}

/** Key ids are public, so the comparison need not take constant time. */
function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

/** Characters decoded before the event loop is yielded. */
const SLICE = 250_000;

/** Bytes as base64url, without padding, on every runtime. */
function toBase64Url(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Undefined: the text is not exactly an output of `toBase64Url`. Another spelling would be an undetected change. */
function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[\w-]+$/.test(text)) return undefined;
  let binary: string;
  try {
    binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return undefined;
  }
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  // Only the bits after the last byte have several spellings.
  const tail = bytes.subarray(bytes.length - (bytes.length % 3));
  return text.endsWith(toBase64Url(tail)) ? bytes : undefined;
}
