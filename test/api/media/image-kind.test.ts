import * as fc from "fast-check";
import { expect, test } from "vitest";
import { firstBytes } from "../../../src/api/media/base64.ts";
import { MAX_HEAD, readImageKind } from "../../../src/api/media/image-kind.ts";
import { pngOf } from "../../helpers/png.ts";

const bytes = (...parts: readonly (string | readonly number[])[]) =>
  Buffer.concat(
    parts.map((part) =>
      typeof part === "string" ? Buffer.from(part, "latin1") : Buffer.from(part),
    ),
  );

const SOF = [0xff, 0xc0, 0, 17, 8, 0x02, 0xd0, 0x05, 0x00, 3];
const comment = (length: number) => [
  0xff,
  0xfe,
  length >> 8,
  length & 255,
  ...Array(length - 2).fill(0),
];

test.each([
  ["PNG", Buffer.from(pngOf(1280, 720), "base64"), [1280, 720]],
  ["GIF", bytes("GIF89a", [0x40, 0x01, 0xf0, 0x00]), [320, 240]],
  ["JPEG", bytes([0xff, 0xd8], SOF), [1280, 720]],
  ["JPEG", bytes([0xff, 0xd8], comment(60_000), [0xff], comment(4), SOF), [1280, 720]],
  [
    "WebP",
    bytes("RIFF", [0, 0, 0, 0], "WEBPVP8 ", Array(10).fill(0), [0x00, 0x05, 0xd0, 0x02]),
    [1280, 720],
  ],
  [
    "WebP",
    bytes("RIFF", [0, 0, 0, 0], "WEBPVP8X", Array(8).fill(0), [0xff, 4, 0, 0xcf, 2, 0]),
    [1280, 720],
  ],
  [
    "WebP",
    bytes(
      "RIFF",
      [0, 0, 0, 0],
      "WEBPVP8L",
      [0, 0, 0, 0, 0x2f, 0xff, 0xc4, 0xb3, 0],
      Array(5).fill(0),
    ),
    [1280, 720],
  ],
] as const)("%s and its size", (name, head, [width, height]) => {
  expect(readImageKind(head)).toEqual({
    name,
    mediaType: `image/${name.toLowerCase()}`,
    size: { width, height },
  });
});

test.each([
  ["a cut PNG", Buffer.from(pngOf(1, 1), "base64").subarray(0, 20), "PNG"],
  ["a PNG without width", Buffer.from(pngOf(0, 1), "base64"), "PNG"],
  ["a JPEG without a frame", bytes([0xff, 0xd8, 0xff, 0xd9]), "JPEG"],
])("%s has no size", (_, head, name) => {
  expect(readImageKind(head)).toEqual({ name, mediaType: `image/${name.toLowerCase()}` });
});

test("other bytes are no image", () => {
  for (const text of ["", "<svg/>", "%PDF-1.7", "RIFF0000WAVE", "\u0089PNG"]) {
    expect(readImageKind(Buffer.from(text, "latin1"))).toBeUndefined();
  }
});

test("any bytes are read, in steps that go forward", () => {
  const starts = fc.constantFrom([0xff, 0xd8, 0xff], [0x89, 0x50], [0x47, 0x49, 0x46, 0x38], []);
  fc.assert(
    fc.property(starts, fc.uint8Array({ maxLength: 200 }), (start, rest) => {
      readImageKind(Uint8Array.from([...start, ...rest]));
    }),
    { seed: 1 },
  );
  // The worst JPEG: as many segments as fit, and no frame.
  const worst = new Uint8Array(MAX_HEAD).fill(0xff);
  worst[1] = 0xd8;
  expect(readImageKind(worst)).toMatchObject({ name: "JPEG" });
});

test("the first bytes of base64, of any length", () => {
  for (let length = 1; length < 10; length++) {
    const whole = Buffer.alloc(length, 7);
    const head = firstBytes(whole.toString("base64"), 5);
    expect([...(head ?? [])]).toEqual([...whole.subarray(0, 6)]);
  }
});
