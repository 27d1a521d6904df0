/** Reads PDFs with the package `unpdf`, each in a process of its own with limits of time and memory. */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { PdfText, ReadPdf } from "../../api/media/read-pdf.ts";
import { moduleBeside } from "../module-beside.ts";
import { Places } from "../../streams/waiting.ts";

const TIMEOUT_MS = 10_000;
const MAX_HEAP_MB = 256;
/** Maximum processes for all tenants. Further reads wait: a tenant has one process at a time. */
const MAX_PROCESSES = 2;

const MODULE = fileURLToPath(moduleBeside(import.meta.url, "pdf-process"));

/** Undefined: the optional package is not installed. */
export function findReadPdf(): ReadPdf | undefined {
  try {
    import.meta.resolve("unpdf");
  } catch {
    return undefined;
  }
  return createReadPdf();
}

export function createReadPdf(): ReadPdf {
  const processes = new Places(MAX_PROCESSES);
  return (bytes, signal) => processes.run(() => runProcess(bytes, signal), signal);
}

/** Reads a PDF in a process. Settles when the process has ended and its slot is free. */
async function runProcess(bytes: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<PdfText> {
  signal.throwIfAborted();
  const child = fork(MODULE, [String(process.pid)], {
    execArgv: [`--max-old-space-size=${MAX_HEAP_MB}`],
    // The gateway's environment contains secrets.
    env: {},
    windowsHide: true,
    serialization: "advanced",
    // Output of pdf.js may quote the file, which is the client's.
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  let read: PdfText = { type: "unreadable", why: "it takes too much time or memory" };
  const kill = (): boolean => child.kill("SIGKILL");
  const timer = setTimeout(kill, TIMEOUT_MS);
  signal.addEventListener("abort", kill, { once: true });
  child.once("message", (message: PdfText) => {
    read = message;
    kill();
  });
  // `close` handles the failure; it follows an error where a process has started.
  child.on("error", () => undefined);
  if (child.connected) {
    child.send(bytes);
    await new Promise((resolve) => child.once("close", resolve));
  }
  clearTimeout(timer);
  signal.removeEventListener("abort", kill);
  signal.throwIfAborted();
  return read;
}
