/** The process of a PDF: only it ends, however hostile the file is, and it never stays. */
import { ChildProcess } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { createReadPdf } from "../../../src/node/pdf/read-pdf.ts";
import { startGatewayProcess } from "../../helpers/gateway-process.ts";
import { ABORTING_PDFS, endlessPdf, pdfOf } from "../../helpers/pdf.ts";

const readPdf = createReadPdf();
const read = (bytes: Buffer, signal = new AbortController().signal) =>
  readPdf(Uint8Array.from(bytes), signal);
const TOO_MUCH = { type: "unreadable", why: "it takes too much time or memory" };
const HELLO = { type: "text", pages: ["Hello"], total: 1 };

/** The processes that a test has started. */
const started: ChildProcess[] = [];
function onStart(message: unknown): void {
  const isStart = typeof message === "object" && message !== null && "process" in message;
  if (isStart && message.process instanceof ChildProcess) started.push(message.process);
}
beforeAll(() => subscribe("child_process", onStart));
afterAll(() => unsubscribe("child_process", onStart));
beforeEach(() => void (started.length = 0));

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null;

test.each(Object.entries(ABORTING_PDFS))("%s end the file's process alone", async (_, bytes) => {
  const other = read(pdfOf(["Hello"]));
  expect(await read(bytes)).toEqual(TOO_MUCH);
  expect(await other).toEqual(HELLO);
  expect(await read(pdfOf(["Hello"]))).toEqual(HELLO);
  expect(started.map((each) => hasEnded(each))).toEqual([true, true, true]);
});

test("a gateway that has read such a file answers other requests", async () => {
  const gateway = await startGatewayProcess([]);
  onTestFinished(() => gateway.stop());
  const ask = (pdf: Buffer) => {
    const file_data = `data:application/pdf;base64,${pdf.toString("base64")}`;
    const file = { type: "file", file: { filename: "a.pdf", file_data } };
    return gateway.post({ messages: [{ role: "user", content: [file] }] });
  };
  for (const pdf of Object.values(ABORTING_PDFS)) {
    const refused = await ask(pdf);
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain("the file cannot be read: it takes too much time or");
    expect(await (await ask(pdfOf(["Hello"]))).text()).toContain("[Page 1]\\n> Hello");
  }
});

function readProcess(pid: number | undefined, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}

test.skipIf(process.platform !== "linux")(
  "the process has none of the gateway's variables (skipped where /proc is missing)",
  async () => {
    const reading = read(pdfOf(["Hello"]));
    const variables = readProcess(started[0]?.pid, "environ").split("\0");
    expect(variables.map((each) => each.replace(/=.*/, "")).filter(Boolean)).toEqual([
      "NODE_CHANNEL_FD",
      "NODE_CHANNEL_SERIALIZATION_MODE",
    ]);
    expect(await reading).toEqual(HELLO);
  },
);

test("no process stays when a request ends", async () => {
  const abort = new AbortController();
  const reading = Promise.allSettled([1, 2, 3].map(() => read(endlessPdf(), abort.signal)));
  abort.abort(new Error("left"));
  const reason = new Error("left");
  expect(await reading).toEqual([1, 2, 3].map(() => ({ status: "rejected", reason })));
  expect(started.map(({ signalCode }) => signalCode)).toEqual(["SIGKILL", "SIGKILL"]);
});

test("no process stays when the time is over", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const reading = read(endlessPdf());
  vi.advanceTimersByTime(10_000);
  expect(await reading).toEqual(TOO_MUCH);
  expect(started.map(({ signalCode }) => signalCode)).toEqual(["SIGKILL"]);
});
