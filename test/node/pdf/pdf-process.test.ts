/** A hostile PDF ends only the process that reads it, and no such process stays. */
import { ChildProcess, spawn } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import { constants, createBrotliCompress, createDeflate } from "node:zlib";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { createReadPdf } from "../../../src/node/pdf/read-pdf.ts";
import { startGatewayProcess } from "../../helpers/gateway-process.ts";
import { isRunning } from "../../helpers/mcp-program.ts";
import { ABORTING_PDFS, endlessPdf, pdfOf, pdfWith } from "../../helpers/pdf.ts";

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

test.each([
  ["Flate", "/Filter /FlateDecode", () => createDeflate({ level: 1 })],
  [
    "Brotli",
    "/Filter /BrotliDecode",
    () => createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  ],
])("a stream that %s expands to 1.2 GB ends with its process", async (_, dictionary, create) => {
  const chunks: Buffer[] = [];
  const collect = async (stream: AsyncIterable<Buffer>) => {
    for await (const chunk of stream) chunks.push(chunk);
  };
  await pipeline(
    Array.from({ length: 300 }, () => BLANKS),
    create(),
    collect,
  );
  const reading = read(pdfWith([{ dictionary, data: Buffer.concat(chunks) }]));
  const peak = watchPeak(started[0]?.pid);
  expect(await reading).toEqual(TOO_MUCH);
  expect(peak()).toBeLessThan(700_000_000);
});

const BLANKS = Buffer.alloc(4_000_000, " ");

/** Peak memory of a process until it ended, in bytes. 0 where there is no `/proc`. */
function watchPeak(pid: number | undefined): () => number {
  let peak = 0;
  const timer = setInterval(() => {
    const kilobytes = /VmHWM:\s+(\d+)/.exec(readProcess(pid, "status"))?.[1] ?? 0;
    peak = Math.max(peak, Number(kilobytes) * 1024);
  }, 5);
  onTestFinished(() => clearInterval(timer));
  return () => peak;
}

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

test("no process stays when the gateway is killed", async () => {
  const gateway = spawn(process.execPath, ["--input-type=module", "-e", READER], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => void gateway.kill("SIGKILL"));
  const [pid] = await once(gateway.stdout, "data");
  expect(isRunning(Number(pid))).toBe(true);
  gateway.kill("SIGKILL");
  await expect.poll(() => isRunning(Number(pid))).toBe(false);
});

/** Reads a file that takes minutes, and prints the process that reads it. */
const READER = `
import { subscribe } from "node:diagnostics_channel";
import { endlessPdf } from "${new URL("../../helpers/pdf.ts", import.meta.url).href}";
import { createReadPdf } from "${new URL("../../../src/node/pdf/read-pdf.ts", import.meta.url).href}";
const started = [];
subscribe("child_process", ({ process: child }) => started.push(child));
const reading = createReadPdf()(Uint8Array.from(endlessPdf()), new AbortController().signal);
console.log(started[0].pid);
await reading;
`;
