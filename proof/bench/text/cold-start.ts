/** Measures from process start to the first ids. Argument: the encoder. Sends time and memory to its parent. */
import { loadEncoder, toEncoderName } from "./encoders.ts";

export interface ColdStart {
  readonly readyMs: number;
  /** Heap and external memory, in MB, above an empty process. */
  readonly heapMb: number;
  readonly rssMb: number;
}

const before = held();
const start = process.hrtime.bigint();
const encoder = await loadEncoder(toEncoderName(process.argv[2]));
encoder.encode("The first text of all.");
const readyMs = Number(process.hrtime.bigint() - start) / 1e6;
process.send?.({
  readyMs,
  heapMb: held() - before,
  rssMb: process.memoryUsage().rss / 1e6,
} satisfies ColdStart);

/** Memory after a garbage collection, if the flag for it is set. */
function held(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1e6;
}
