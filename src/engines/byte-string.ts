/**
 * Bytes that are expected in a stream again and again. They are compared eight at a time, as floating-point numbers: 230
 * bytes take 35 ns, one by one 180. A slice of decoded text takes as long, but the text has to be decoded first.
 */
export class ByteString {
  readonly length: number;
  /**
   * Words, the last of which ends with the text and may overlap the one before it, or bytes if there are too few for a word.
   * Not a typed array: this lies in one place with its object, and each stream has such strings.
   */
  readonly #units: readonly number[];

  /** @param text without NUL: 0 and -0 are equal, but not the same bytes. All other equal numbers are, and NaN equals none. */
  constructor(text: string) {
    const bytes = new TextEncoder().encode(text);
    this.length = bytes.length;
    this.#units = bytes.length < WORD ? [...bytes] : toWords(bytes);
  }

  /** Whether these bytes are in the view at `at`, and end before `limit`. */
  isAt(view: DataView, at: number, limit: number): boolean {
    const end = at + this.length;
    if (end > limit) return false;
    const units = this.#units;
    if (this.length < WORD) {
      for (let i = 0; i < units.length; i++) if (view.getUint8(at + i) !== units[i]) return false;
      return true;
    }
    const last = units.length - 1;
    for (let i = 0; i < last; i++) {
      if (view.getFloat64(at + i * WORD, true) !== units[i]) return false;
    }
    return view.getFloat64(end - WORD, true) === units[last];
  }
}

const WORD = 8;

function toWords(bytes: Uint8Array): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  // Not with `[...]`, which makes an object of each number.
  return Array.from({ length: Math.ceil(bytes.length / WORD) }, (_, index) =>
    view.getFloat64(Math.min(index * WORD, bytes.length - WORD), true),
  );
}
