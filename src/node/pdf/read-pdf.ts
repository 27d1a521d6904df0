/** Reads PDFs with the package `unpdf`, each in a process of its own with limits of time and memory. */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { PdfText, ReadPdf } from "../../api/media/read-pdf.ts";
import { moduleBeside } from "../module-beside.ts";
import { Places } from "../../streams/waiting.ts";

const TIMEOUT_MS = 10_000;
const MAX_HEAP_MB = 256;
/** Processes of all tenants together. Others wait in turn: a tenant has one at a time. */
const MAX_PROCESSES = 2;

const MODULE = fileURLToPath(moduleBeside(import.meta.url, "pdf-process"));

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
  const processes = new Places(MAX_PROCESSES);
  return (bytes, signal) => processes.run(() => runProcess(bytes, signal), signal);
}

/** Settles when the process has ended: its place is another's then. */
async function runProcess(bytes: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<PdfText> {
  signal.throwIfAborted();
  const child = fork(MODULE, [String(process.pid)], {
    execArgv: [`--max-old-space-size=${MAX_HEAP_MB}`],
    // The gateway's variables have secrets.
    env: {},
    windowsHide: true,
    serialization: "advanced",
    // What pdf.js prints is about the file, which is the client's.
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
  // Handled by `close`, which follows where a process has started.
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
