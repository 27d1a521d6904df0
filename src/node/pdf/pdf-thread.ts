/**
 * The thread that reads one PDF: what pdf.js does with a hostile one must not hold the event loop that streams, and ends with the thread.
 *
 * Started by `read-pdf.ts`.
 */
import { parentPort, workerData } from "node:worker_threads";
import { getDocumentProxy } from "unpdf";
import { MAX_CHARACTERS, MAX_PAGES, type PdfText } from "../../api/media/read-pdf.ts";
import { limitArrays } from "./limit-arrays.ts";

if (parentPort === null) throw new Error("This module is a thread that reads a PDF.");
const port = parentPort;
const bytes: Uint8Array = workerData;

port.postMessage(await read());

async function read(): Promise<PdfText> {
  limitArrays(globalThis);
  try {
    const document = await getDocumentProxy(bytes, { verbosity: 0 });
    const pages: string[] = [];
    let characters = 0;
    while (pages.length < Math.min(document.numPages, MAX_PAGES) && characters < MAX_CHARACTERS) {
      const page = await document.getPage(pages.length + 1);
      const { items } = await page.getTextContent();
      page.cleanup();
      const text = toText(items).slice(0, MAX_CHARACTERS - characters);
      characters += text.length;
      pages.push(text);
    }
    return { type: "text", pages, total: document.numPages };
  } catch (error) {
    const isLocked = error instanceof Error && error.name === "PasswordException";
    return { type: "unreadable", why: isLocked ? "it is encrypted" : "it is damaged" };
  }
}

function toText(items: readonly object[]): string {
  let text = "";
  for (const item of items) {
    if (!("str" in item) || typeof item.str !== "string") continue;
    text += item.str;
    if ("hasEOL" in item && item.hasEOL === true) text += "\n";
  }
  return text;
}
