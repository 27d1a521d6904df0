/** Writes GGUF, llama.cpp's model file: version 3, little endian, tensors aligned to 32 bytes. */

export type GgufValue =
  | { readonly u32: number }
  | { readonly f32: number }
  | { readonly bool: boolean }
  | { readonly text: string }
  | { readonly texts: readonly string[] }
  | { readonly i32s: readonly number[] };

export interface GgufTensor {
  readonly name: string;
  /** The fastest running dimension first: columns, rows, experts. */
  readonly dimensions: readonly number[];
  readonly type: number;
  readonly bytes: Uint8Array;
}

const ALIGNMENT = 32;

export function ggufFile(
  metadata: Readonly<Record<string, GgufValue>>,
  tensors: readonly GgufTensor[],
): Uint8Array {
  const file = createByteSink();
  file.text("GGUF");
  file.u32(3);
  file.u64(tensors.length);
  file.u64(Object.keys(metadata).length);
  for (const [key, value] of Object.entries(metadata)) {
    file.sized(key);
    writeValue(file, value);
  }
  let offset = 0;
  for (const tensor of tensors) {
    file.sized(tensor.name);
    file.u32(tensor.dimensions.length);
    for (const dimension of tensor.dimensions) file.u64(dimension);
    file.u32(tensor.type);
    file.u64(offset);
    offset += Math.ceil(tensor.bytes.length / ALIGNMENT) * ALIGNMENT;
  }
  for (const tensor of tensors) {
    file.align(ALIGNMENT);
    file.bytes(tensor.bytes);
  }
  file.align(ALIGNMENT);
  return file.done();
}

/** Ids of value types in the format. */
const TYPE = { u32: 4, i32: 5, f32: 6, bool: 7, text: 8, list: 9 };

function writeValue(file: ByteSink, value: GgufValue): void {
  if ("u32" in value) {
    file.u32(TYPE.u32);
    file.u32(value.u32);
  } else if ("f32" in value) {
    file.u32(TYPE.f32);
    file.bytes(new Uint8Array(Float32Array.of(value.f32).buffer));
  } else if ("bool" in value) {
    file.u32(TYPE.bool);
    file.bytes(Uint8Array.of(value.bool ? 1 : 0));
  } else if ("text" in value) {
    file.u32(TYPE.text);
    file.sized(value.text);
  } else if ("texts" in value) {
    file.u32(TYPE.list);
    file.u32(TYPE.text);
    file.u64(value.texts.length);
    for (const text of value.texts) file.sized(text);
  } else {
    file.u32(TYPE.list);
    file.u32(TYPE.i32);
    file.u64(value.i32s.length);
    file.bytes(new Uint8Array(Int32Array.from(value.i32s).buffer));
  }
}

type ByteSink = ReturnType<typeof createByteSink>;

function createByteSink() {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const bytes = (chunk: Uint8Array) => {
    chunks.push(chunk);
    length += chunk.length;
  };
  const u32 = (value: number) => {
    const chunk = Buffer.allocUnsafe(4);
    chunk.writeUInt32LE(value);
    bytes(chunk);
  };
  const u64 = (value: number) => {
    const chunk = Buffer.allocUnsafe(8);
    chunk.writeBigUInt64LE(BigInt(value));
    bytes(chunk);
  };
  const text = (value: string) => bytes(Buffer.from(value));
  return {
    bytes,
    u32,
    u64,
    text,
    /** Text after its length in bytes. */
    sized(value: string) {
      u64(Buffer.byteLength(value));
      text(value);
    },
    align: (to: number) => bytes(new Uint8Array((to - (length % to)) % to)),
    done: () => Buffer.concat(chunks),
  };
}

/** Single precision. */
export function f32Tensor(
  name: string,
  dimensions: readonly number[],
  values: Float32Array | ((index: number) => number) = () => 0,
): GgufTensor {
  const length = dimensions.reduce((product, each) => product * each, 1);
  const floats =
    typeof values === "function"
      ? Float32Array.from({ length }, (_, index) => values(index))
      : values;
  return { name, dimensions, type: 0, bytes: new Uint8Array(floats.buffer) };
}

/** Q8_0: blocks of 32 weights, each a half-precision scale and 32 signed bytes. `fill` sets one row. */
export function q8Tensor(
  name: string,
  [columns, rows]: readonly [number, number],
  fill: (row: number, weights: Float32Array) => void,
): GgufTensor {
  const bytes = Buffer.alloc(((rows * columns) / 32) * 34);
  const weights = new Float32Array(columns);
  let at = 0;
  for (let row = 0; row < rows; row++) {
    weights.fill(0);
    fill(row, weights);
    for (let start = 0; start < columns; start += 32) {
      const block = weights.subarray(start, start + 32);
      const scale = block.reduce((most, weight) => Math.max(most, Math.abs(weight)), 0) / 127;
      at = bytes.writeUInt16LE(toHalf(scale), at);
      for (const weight of block) at = bytes.writeInt8(scale ? Math.round(weight / scale) : 0, at);
    }
  }
  return { name, dimensions: [columns, rows], type: 8, bytes };
}

/** MXFP4, all weights zero: blocks of 32 weights, one byte of exponent and 16 bytes of codes. */
export function zeroMxfp4Tensor(name: string, dimensions: readonly number[]): GgufTensor {
  const weights = dimensions.reduce((product, each) => product * each, 1);
  const bytes = new Uint8Array((weights / 32) * 17);
  for (let at = 0; at < bytes.length; at += 17) bytes[at] = 127;
  return { name, dimensions, type: 39, bytes };
}

/** Half precision of a positive number in its normal range; anything smaller becomes 0. */
function toHalf(value: number): number {
  const bits = new Uint32Array(Float32Array.of(value).buffer)[0] ?? 0;
  const exponent = ((bits >>> 23) & 0xff) - 112;
  return exponent <= 0 ? 0 : (exponent << 10) + (((bits & 0x7fffff) + 0x1000) >> 13);
}
