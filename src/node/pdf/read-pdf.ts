/** Reads PDFs with the package `unpdf`, each in a thread of its own with limits of time and memory. */
import { Worker } from "node:worker_threads";
import type { PdfText, ReadPdf } from "../../api/media/read-pdf.ts";
import { Places } from "../../streams/places.ts";

const TIMEOUT_MS = 10_000;
const MAX_HEAP_MB = 256;
/** Threads of all tenants together. Others wait in turn: a tenant has one at a time. */
const MAX_THREADS = 2;

const MODULE = new URL(
  import.meta.url.endsWith(".ts") ? "./pdf-thread.ts" : "./pdf-thread.js",
  import.meta.url,
);

/** Undefined: the package, which is optional, is not installed beside the gateway. */
export function findReadPdf(): ReadPdf | undefined {
  try {
    import.meta.resolve("unpdf");
  } catch {
    return undefined;
  }
  return createReadPdf();
}

export function createReadPdf(): ReadPdf {
  const threads = new Places(MAX_THREADS);
  return (bytes, signal) => threads.run(() => runThread(bytes, signal), signal);
}

async function runThread(bytes: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<PdfText> {
  signal.throwIfAborted();
  const thread = new Worker(MODULE, {
    workerData: bytes,
    transferList: [bytes.buffer],
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    // What pdf.js prints is about the file, which is the client's.
    stdout: true,
    stderr: true,
  });
  return await new Promise<PdfText>((resolve, reject) => {
    const timer = setTimeout(() => end(TOO_MUCH), TIMEOUT_MS);
    const leave = (): void => {
      reject(signal.reason);
      end(TOO_MUCH);
    };
    const end = (read: PdfText): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
      void thread.terminate();
      resolve(read);
    };
    signal.addEventListener("abort", leave, { once: true });
    thread.once("message", end);
    thread.once("error", () => end(TOO_MUCH));
    thread.once("exit", () => end(TOO_MUCH));
  });
}

const TOO_MUCH: PdfText = { type: "unreadable", why: "it takes too much time or memory" };
