import { createDecipheriv, hkdfSync } from "node:crypto";
import { assert, asyncProperty, string } from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createReasoningCipher, type SealBinding } from "../../src/store/reasoning-cipher.ts";

const BOUND: SealBinding = { tenant: "alice", purpose: "reasoning" };

/** A cipher with the nonces 1, 2, 3 …, so that sealed texts are known. */
function sealsWith(...secrets: [string, ...string[]]) {
  let calls = 0;
  return createReasoningCipher({
    secrets,
    randomBytes: (length) => new Uint8Array(length).fill(++calls),
  });
}

function bytesOf(sealed: string): Uint8Array {
  return new Uint8Array(Buffer.from(sealed, "base64url"));
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}

describe("an encrypted text", () => {
  test.each(["", "a", "Let me think.", "日本語 👩‍🚀", "\u0000\u2028", "x".repeat(100_000)])(
    "opens to the same text",
    async (text) => {
      const cipher = sealsWith("secret");
      const sealed = await cipher.seal(text, BOUND);
      expect(sealed).toMatch(/^[\w-]+$/);
      expect(await cipher.open(sealed, BOUND)).toEqual({ opened: true, text });
    },
  );

  test("consists of version, key id, nonce, ciphertext and a 16-byte tag", async () => {
    const bytes = bytesOf(await sealsWith("secret").seal("12345", BOUND));
    expect(bytes.slice(0, 1)).toEqual(Uint8Array.of(1));
    expect(bytes.slice(9, 21)).toEqual(new Uint8Array(12).fill(1));
    expect(bytes.length).toBe(1 + 8 + 12 + 5 + 16);
  });

  test("is AES-256-GCM under HKDF-SHA-256, as Node's own implementation reads it", async () => {
    const bytes = bytesOf(await sealsWith("secret").seal("Let me think.", BOUND));
    const derive = (info: string, length: number) =>
      new Uint8Array(hkdfSync("sha256", "secret", "harmony-gateway seals", info, length));
    const [header, nonce] = [bytes.slice(0, 9), bytes.slice(9, 21)];
    expect(header).toEqual(Uint8Array.of(1, ...derive("key id", 8)));
    const decipher = createDecipheriv("aes-256-gcm", derive("key", 32), nonce)
      .setAAD(Buffer.concat([header, Buffer.from('["reasoning","alice"]')]))
      .setAuthTag(bytes.slice(-16));
    const text = Buffer.concat([decipher.update(bytes.slice(21, -16)), decipher.final()]);
    expect(text.toString()).toBe("Let me think.");
  });

  test("is never the same twice", async () => {
    const cipher = sealsWith("secret");
    expect(await cipher.seal("same", BOUND)).not.toBe(await cipher.seal("same", BOUND));
  });

  test("reveals neither text nor tenant", async () => {
    const sealed = await sealsWith("secret").seal("Let me think.", BOUND);
    const shown = new TextDecoder("latin1").decode(bytesOf(sealed));
    expect(shown).not.toContain("think");
    expect(shown).not.toContain("alice");
  });
});

describe("decryption is refused", () => {
  const cases: [why: string, alter: (bytes: Uint8Array) => Uint8Array | string, reason: string][] =
    [
      ["of another version", (bytes) => bytes.with(0, 2), "malformed"],
      ["with another key's id", (bytes) => bytes.with(1, (bytes[1] ?? 0) ^ 1), "unknown-key"],
      ["with another nonce", (bytes) => bytes.with(9, 77), "not-authentic"],
      ["with an altered text", (bytes) => bytes.with(21, (bytes[21] ?? 0) ^ 1), "not-authentic"],
      [
        "with an altered tag",
        (bytes) => bytes.map((byte, at) => (at === bytes.length - 1 ? byte ^ 128 : byte)),
        "not-authentic",
      ],
      ["cut by a byte", (bytes) => bytes.slice(0, -1), "not-authentic"],
      ["with a byte too many", (bytes) => Uint8Array.of(...bytes, 0), "not-authentic"],
      ["cut in the tag of an empty text", (bytes) => bytes.slice(0, 36), "malformed"],
      ["cut to nothing", () => "", "malformed"],
      ["that is no base64url", () => "not a seal!", "malformed"],
      ["in ordinary base64, padded", (bytes) => `${textOf(bytes)}=`, "malformed"],
      ["with a length no base64 has", (bytes) => textOf(bytes).slice(0, 41), "malformed"],
      ["that is somebody else's encrypted reasoning", () => "gAAAAABoISQ24OyVRYbk", "malformed"],
    ];

  test.each(cases)("%s", async (_, alter, reason) => {
    const cipher = sealsWith("secret");
    const altered = alter(bytesOf(await cipher.seal("Let me think!", BOUND)));
    const sealed = typeof altered === "string" ? altered : textOf(altered);
    expect(await cipher.open(sealed, BOUND)).toEqual({ opened: false, reason });
  });

  test("whichever bit is flipped", async () => {
    const cipher = sealsWith("secret");
    const bytes = bytesOf(await cipher.seal("Let me think.", BOUND));
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const at = bit >> 3;
      const turned = textOf(bytes.with(at, (bytes[at] ?? 0) ^ (1 << (bit & 7))));
      expect(await cipher.open(turned, BOUND)).toMatchObject({ opened: false });
    }
  });

  test("in a second spelling of the same bytes", async () => {
    const cipher = sealsWith("secret");
    // The text has 44 bytes, so the last character holds two unused bits.
    const sealed = await cipher.seal("1234567", BOUND);
    const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const other = sealed.slice(0, -1) + digits[digits.indexOf(sealed.at(-1) ?? "") + 1];
    expect(bytesOf(other)).toEqual(bytesOf(sealed));
    expect(await cipher.open(other, BOUND)).toEqual({ opened: false, reason: "malformed" });
  });

  test.each<[string, SealBinding]>([
    ["another tenant", { ...BOUND, tenant: "bob" }],
    ["a tenant whose name begins alike", { ...BOUND, tenant: "alice2" }],
    ["no tenant", { ...BOUND, tenant: "" }],
    ["another purpose", { ...BOUND, purpose: "compaction" }],
    ["a tenant made to look like both", { tenant: 'alice"', purpose: 'reasoning","alice' }],
  ])("for %s", async (_, bound) => {
    const cipher = sealsWith("secret");
    const sealed = await cipher.seal("Let me think.", BOUND);
    expect(await cipher.open(sealed, bound)).toEqual({ opened: false, reason: "not-authentic" });
  });

  test("whatever text it is, without an exception", async () => {
    const cipher = sealsWith("secret");
    await assert(
      asyncProperty(string(), async (text) => {
        expect(await cipher.open(text, BOUND)).toMatchObject({ opened: false });
      }),
      { numRuns: 200 },
    );
  });
});

describe("keys", () => {
  test("a new key first: it encrypts, the old one still decrypts", async () => {
    const before = await sealsWith("old").seal("then", BOUND);
    const rotated = sealsWith("new", "old");
    expect(await rotated.open(before, BOUND)).toEqual({ opened: true, text: "then" });
    const after = await rotated.seal("now", BOUND);
    expect(await sealsWith("new").open(after, BOUND)).toEqual({ opened: true, text: "now" });
    expect(await sealsWith("old").open(after, BOUND)).toEqual({
      opened: false,
      reason: "unknown-key",
    });
  });

  test("a removed key decrypts nothing", async () => {
    const sealed = await sealsWith("old").seal("then", BOUND);
    expect(await sealsWith("new").open(sealed, BOUND)).toEqual({
      opened: false,
      reason: "unknown-key",
    });
  });

  test("two gateways with the same one decrypt each other's texts", async () => {
    const sealed = await sealsWith("shared").seal("then", BOUND);
    expect(await sealsWith("shared").open(sealed, BOUND)).toEqual({ opened: true, text: "then" });
  });

  test.each(["x", "long ".repeat(200), "ключ"])("may be any text: %j", async (secret) => {
    const cipher = sealsWith(secret);
    expect(await cipher.open(await cipher.seal("then", BOUND), BOUND)).toMatchObject({
      opened: true,
    });
  });
});

describe("long encrypted texts", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  test("that are too long are refused before they are decoded", async () => {
    const decode = vi.spyOn(globalThis, "atob");
    const opened = await sealsWith("secret").open("A".repeat(2_000_000), BOUND);
    expect(opened).toEqual({ opened: false, reason: "malformed" });
    expect(decode).not.toHaveBeenCalled();
  });

  test("of unknown keys are refused by their first characters", async () => {
    const sealed = await sealsWith("other").seal("x".repeat(300_000), BOUND);
    const decode = vi.spyOn(globalThis, "atob");
    const opened = await sealsWith("secret").open(sealed, BOUND);
    expect(opened).toEqual({ opened: false, reason: "unknown-key" });
    expect(decode.mock.calls.map(([text]) => text.length)).toEqual([12]);
  });

  test("are decoded one per iteration of the event loop", async () => {
    const cipher = sealsWith("secret");
    const sealed = await cipher.seal("x".repeat(300_000), BOUND);
    // The spy also sees timers of earlier test files in this process, which change nothing.
    const steps: ("timer" | "decode")[] = [];
    const { atob, setTimeout } = globalThis;
    vi.spyOn(globalThis, "setTimeout").mockImplementation((callback, delay) => {
      if (delay === 0) steps.push("timer");
      return setTimeout(callback, delay);
    });
    vi.spyOn(globalThis, "atob").mockImplementation((text) => {
      if (text.length > 1000) steps.push("decode");
      return atob(text);
    });
    const opened = await Promise.all([1, 2, 3].map(() => cipher.open(sealed, BOUND)));
    expect(opened.every((each) => each.opened)).toBe(true);
    expect(steps.filter((step) => step === "decode")).toHaveLength(3);
    expect(
      steps.filter((step, index) => step === "decode" && steps[index - 1] !== "timer"),
    ).toEqual([]);
  });
});
