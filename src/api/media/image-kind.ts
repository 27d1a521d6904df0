/** Detects the format of an image by its first bytes: clients' labels are often wrong. Pixels are never decoded. */

export interface ImageKind {
  readonly name: "PNG" | "JPEG" | "WebP" | "GIF";
  readonly mediaType: string;
  /** Size in pixels. Absent: not found in the bytes that were read. */
  readonly size?: { readonly width: number; readonly height: number };
}

/** Maximum number of bytes before the size in a JPEG: previews and colour profiles. */
export const MAX_HEAD = 262_144;

/** Undefined: the format is not one that vision models read. */
export function readImageKind(head: Uint8Array): ImageKind | undefined {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  if (startsWith(head, PNG)) return withSize("PNG", pngSize(view));
  if (startsWith(head, JPEG)) return withSize("JPEG", jpegSize(view));
  if (latin(head, 0, 4) === "GIF8") return withSize("GIF", gifSize(view));
  if (latin(head, 0, 4) === "RIFF" && latin(head, 8, 12) === "WEBP") {
    return withSize("WebP", webpSize(view, latin(head, 12, 16)));
  }
  return undefined;
}

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const JPEG = [0xff, 0xd8, 0xff];

type Size = NonNullable<ImageKind["size"]>;

function withSize(name: ImageKind["name"], size: Size | undefined): ImageKind {
  const isKnown = size !== undefined && size.width > 0 && size.height > 0;
  return { name, mediaType: `image/${name.toLowerCase()}`, ...(isKnown && { size }) };
}

function pngSize(view: DataView): Size | undefined {
  if (view.byteLength < 24) return undefined;
  return { width: view.getUint32(16), height: view.getUint32(20) };
}

function gifSize(view: DataView): Size | undefined {
  if (view.byteLength < 10) return undefined;
  return { width: view.getUint16(6, true), height: view.getUint16(8, true) };
}

function webpSize(view: DataView, chunk: string): Size | undefined {
  if (view.byteLength < 30) return undefined;
  switch (chunk) {
    case "VP8 ":
      return {
        width: view.getUint16(26, true) & 0x3fff,
        height: view.getUint16(28, true) & 0x3fff,
      };
    case "VP8L": {
      const bits = view.getUint32(21, true);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case "VP8X":
      return { width: uint24(view, 24) + 1, height: uint24(view, 27) + 1 };
    default:
      return undefined;
  }
}

function uint24(view: DataView, at: number): number {
  return view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
}

/** Reads the size from the frame header. Each segment states its length, so each step advances. */
function jpegSize(view: DataView): Size | undefined {
  let at = 2;
  while (at + 9 <= view.byteLength) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    if (marker === 0xff) {
      at += 1;
    } else if (isFrame(marker)) {
      return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    } else {
      at += 2 + Math.max(2, view.getUint16(at + 2));
    }
  }
  return undefined;
}

/** Whether the marker starts a frame, of any coding; three markers of the range start tables. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
}

function startsWith(head: Uint8Array, bytes: readonly number[]): boolean {
  return bytes.every((byte, at) => head[at] === byte);
}

function latin(head: Uint8Array, from: number, to: number): string {
  return String.fromCharCode(...head.subarray(from, to));
}
